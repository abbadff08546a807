# SPDX-License-Identifier: BSD-2-Clause
# gdb/local.mk - the script that shows pools in gdb.
#
# gdb loads a script by itself that has the name of the library with "-gdb.py" added.  It
# looks beside the library, if it trusts that folder (set auto-load safe-path), and for
# systems' own libraries in a folder of its own, which it trusts.

EXTRA_DIST += gdb/cpool.py

gdb_script = $(DESTDIR)$(gdb_folder)/`readlink $(DESTDIR)$(libdir)/libcpool.so`-gdb.py
gdb_folder = `case $(libdir) in /usr/lib*) echo $(datadir)/gdb/auto-load$(libdir) ;; \
	*) echo $(libdir) ;; esac`

# After the library itself.  There is none to load with where it is static alone.
install-exec-hook:
	if [ -h $(DESTDIR)$(libdir)/libcpool.so ]; then \
		$(MKDIR_P) $(DESTDIR)$(gdb_folder) && \
		$(INSTALL_DATA) $(srcdir)/gdb/cpool.py "$(gdb_script)"; fi

# Before or after the library goes.
uninstall-hook:
	rm -f $(DESTDIR)$(gdb_folder)/libcpool.so.*-gdb.py
