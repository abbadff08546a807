/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epoch.c - the beginning of a section, and the scan that tells which bags no section sees.
 *
 * A reader's word `inside` is odd inside a section: the epoch in which it began.  Outside it is
 * even: one more than the last epoch that the reader has seen.  Its later sections see at least
 * that epoch.  So a reader that has seen an epoch after a bag's stamp is not in the bag's way, and
 * readers at work get there by themselves.
 *
 * A reader that has not been inside since may be about to begin, unseen.  The kernel's barrier
 * decides that, and takes the reader offline: its next section begins out of line, and meets the
 * scans at the word that leads to the epoch.
 *
 *   epoch of a reader | the domain's: begins inline | odd, a mark: asked | CPI_OFFLINE |
 *
 * Once the kernel has refused its barrier, readers stay offline.  A reader that is online still
 * holds back what it has not seen, until its next section begins out of line, by the mark.
 *
 * ORDERING TABLE
 *   now    | epoch load        | acquire | retire.c's stamp | what was made unreachable before
 *   hint   | CAS failure, first loads, own word | relaxed | - | -
 *   scan   | inside load       | acquire | a beginning and an end inline, seen, begin | all reads
 *                                          of sections that have ended, and the epoch
 *   seen   | inside store      | release | scan   | the epoch, and all reads of earlier sections
 *   begin  | inside store      | release | scan, meet | all reads of earlier sections
 *   meet   | epoch exchange, CAS | acq_rel | meet, domain.c's meet | the section, or what was made
 *                                          unreachable
 *          | epoch load, CAS failure | acquire | meet | the section
 *   ask    | epoch CAS         | relaxed | barrier | -
 *   offline | epoch CAS        | release | meet   | the sections that have begun inline
 *   barrier | membarrier(2)    | -       | a beginning inline | each side's first word
 *
 * [scan] A reader that is outside with an epoch after the stamp loaded it with [now]'s acquire,
 * after the stamp's change.  Its later sections come after that, and find no slot of the bag.  Its
 * earlier ones have ended, by the acquire.
 *
 * [barrier] It comes after [ask] and before the second scan.  A beginning inline stores `inside`,
 * and loads `epoch` again.  Either that load came before the barrier, and the scan sees the
 * section, or it finds the mark.  All loads of a section that the scan does not see come after the
 * barrier, and so after the stores that made the slots unreachable.  The thread that takes a reader
 * [offline] knows all sections that have begun inline.  The mark is the caller's alone, so that
 * [offline] fails if the reader has been inside out of line, and begins inline again.
 *
 * [meet] Both sides change `epoch`.  If the reader's change comes first, the scan acquires its
 * [begin].  Otherwise the reader acquires the scan's.  All changes are read-modify-writes, so that
 * the reader acquires those of all scans.  An offline reader's word is not believed to be young
 * without that, because epochs may have wrapped since.  Any other reader is asked before.
 */
#include <cpool.h>

#if defined(CPOOL_NO_INLINE) /* the inline functions are ordinary ones, defined here */
#undef CPOOL_IS_INLINE_
#undef CPOOL_INLINE_
#define CPOOL_IS_INLINE_ 1
#define CPOOL_INLINE_ __attribute__((__noinline__))
#endif

#include "retire/domain.h"

#if !defined(CPOOL_NO_INLINE)
extern inline void cpool_read_begin(cpool_reader_t *reader);
extern inline void cpool_read_end(cpool_reader_t *reader);
#endif

/* Bags are kept by sections, and by readers outside that have not seen the stamps. */
struct view {
    struct cpi_blocker oldest; /* of the sections */
    uintptr_t outside;         /* bags with a stamp before this are out of the others' way */
};

static void see_section(struct view *view, const struct cpi_reader *reader, uintptr_t epoch)
{
    if (cpi_epoch_is_before(epoch, view->oldest.inside)) {
        view->oldest.inside = epoch;
        view->oldest.reader = reader;
    }
}

/* Whether the reader is offline, so that all its sections from now on see what this thread saw.
 * Comes before the reader's word is read. */
static bool meet_reader(struct cpi_reader *reader)
{
    const uintptr_t *epoch = cpi_word_load(&reader->section.epoch, acquire); /* [meet] */

    return epoch == CPI_OFFLINE &&
           cpi_word_cas(&reader->section.epoch, &epoch, CPI_OFFLINE, acq_rel, acquire); /* [meet] */
}

static void scan_reader(struct view *view, struct cpi_reader *reader)
{
    bool met = meet_reader(reader);
    uintptr_t word = cpi_word_load(&reader->section.inside, acquire); /* [scan] */

    if (cpi_is_inside(word))
        see_section(view, reader, word);
    else if (!met && cpi_epoch_is_before(word - 1, view->outside))
        view->outside = word - 1;
}

/* The calling thread needs no barrier for itself. */
static void scan_own(struct view *view, struct cpi_reader *self, uintptr_t now)
{
    uintptr_t word = cpi_word_load(&self->section.inside, relaxed); /* [hint] */

    if (cpi_is_inside(word))
        see_section(view, self, word);
    else
        cpi_word_store(&self->section.inside, now + 1, release); /* [seen] */
}

static struct view scan_all(struct cpool_domain *domain, struct cpi_reader *self)
{
    uintptr_t now = cpi_word_load(&domain->epoch, acquire); /* [now] */
    struct view view = {{NULL, now, 0}, now};

    for (size_t i = 0; i < domain->readers; i++) {
        if (&domain->reader[i] == self)
            scan_own(&view, self, now);
        else
            scan_reader(&view, &domain->reader[i]);
    }
    return view;
}

/* Those that are outside, online, and have not seen the epoch. */
static void ask_reader(struct cpi_reader *reader, uintptr_t now, const uintptr_t *mark)
{
    const uintptr_t *epoch = cpi_word_load(&reader->section.epoch, relaxed); /* [hint] */
    uintptr_t word = cpi_word_load(&reader->section.inside, relaxed);        /* [hint] */

    if (epoch != CPI_OFFLINE && !cpi_is_inside(word) && cpi_epoch_is_before(word - 1, now))
        (void)cpi_word_cas(&reader->section.epoch, &epoch, mark, relaxed, /* [ask] */
                           relaxed);                                      /* [hint] */
}

static void take_offline(struct cpi_reader *reader, const uintptr_t *mark)
{
    const uintptr_t *epoch = mark;

    if (cpi_word_load(&reader->section.epoch, relaxed) == mark) /* [hint] */
        (void)cpi_word_cas(&reader->section.epoch, &epoch, CPI_OFFLINE, /* [offline] */
                           release, relaxed);                           /* [hint] */
}

/* After the barrier no reader outside is in the way.  False if the kernel refuses it. */
static bool scan_with_barrier(struct cpool_domain *domain, struct cpi_reader *self,
                              struct view *view)
{
    const uintptr_t *mark = (const uintptr_t *)((uintptr_t)view | 1);
    uintptr_t now = cpi_word_load(&domain->epoch, acquire); /* [now] */

    view->oldest.reader = NULL;
    view->oldest.inside = now;
    for (size_t i = 0; i < domain->readers; i++)
        if (&domain->reader[i] != self)
            ask_reader(&domain->reader[i], now, mark);
    if (!domain->client.system->barrier()) /* [barrier] */
        return false;
    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[i];
        uintptr_t word = cpi_word_load(&reader->section.inside, acquire); /* [scan] */

        if (cpi_is_inside(word))
            see_section(view, reader, word);
        take_offline(reader, mark);
    }
    return true;
}

uintptr_t cpi_epoch_scan(struct cpool_domain *domain, struct cpi_reader *self, bool barrier,
                         struct cpi_blocker *blocker)
{
    struct view view = scan_all(domain, self);

    if (cpi_epoch_is_before(view.outside, view.oldest.inside) &&
        !(barrier && scan_with_barrier(domain, self, &view)))
        view.oldest.inside = view.outside;
    if (blocker != NULL)
        *blocker = view.oldest;
    return view.oldest.inside;
}

static void show_section(cpool_reader_t *section, const uintptr_t *epoch)
{
    uintptr_t now = cpi_word_load(epoch, acquire); /* [now] */

    cpi_word_store(&section->inside, now, release); /* [begin] */
}

/* Shows the section, meets the scans, and shows it once more, because epochs may have wrapped
 * before it was shown.  That of a destroyed reader is shown, too, for its end will follow. */
void cpool_read_begin_abi1(cpool_reader_t *section)
{
    struct cpool_domain *domain = cpi_reader_of(section)->domain;
    bool online = domain->client.system->has_barrier();

    show_section(section, &domain->epoch);
    if (cpi_reader_has_ended(cpi_reader_of(section), "cpool_read_begin"))
        return;
    (void)cpi_word_exchange(&section->epoch, online ? &domain->epoch : CPI_OFFLINE, /* [meet] */
                            acq_rel);
    show_section(section, &domain->epoch);
}
