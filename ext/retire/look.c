/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look.c - what a thread that closed a bag may conclude from the readers' words.
 *
 * A reader's word is odd inside a section, the epoch in which it began.  Outside it is even, one
 * more than the last epoch that the reader has seen.  Sections that begin later see at least this
 * epoch.  So a reader that has seen an epoch after the bag's stamp is out of the bag's way, and
 * readers at work get there by themselves.
 *
 * A reader that has not been inside since may be about to begin, unseen.  The barrier of the
 * system decides that.  The reader is parked then: its next beginning is out of line, and meets
 * the looks at the word that leads to the epoch.
 *
 *   epoch of a reader | the domain's: begins inline | odd, a mark: asked | CPI_PARKED: meets looks
 *
 * Where the system has no barrier, all readers are parked for good.
 *
 * ORDERING TABLE
 *   now    | epoch load        | acquire | bags.c's stamp | what was made unreachable before
 *   first  | CAS failure, first loads, own word | relaxed | - | -
 *   look   | inside load       | acquire | a beginning and an end inline, seen, begin | all reads
 *                                          of the sections that are over, and the epoch
 *   seen   | inside store      | release | look   | the same
 *   begin  | inside store      | release | look, meet | the same
 *   meet   | epoch exchange, CAS | acq_rel | meet, park | the section, or what was made unreachable
 *          | epoch load, CAS failure | acquire | meet | the section
 *   ask    | epoch CAS         | relaxed | barrier | -
 *   park   | epoch CAS         | release | meet   | the sections that have begun inline
 *   barrier | membarrier(2)    | -       | a beginning inline | each side's first word
 *
 * [look] A reader that is outside with an epoch after the stamp loaded it with [now]'s acquire,
 * after the stamp's change.  Its later sections come after that, and find no slot of the bag.  Its
 * earlier ones have ended, by the acquire.
 *
 * [barrier] It comes after [ask] and before the second look.  A beginning inline stores `inside`,
 * and loads `epoch` again.  Either that load came before the barrier, and the look sees the
 * section, or it finds the mark.  All loads of a section that the look does not see come after the
 * barrier, and with that after the stores that made the slots unreachable.  So the thread that
 * [park]s knows all sections that have begun inline.  The mark is the caller's alone, so that
 * [park] fails if the reader has been inside out of line, and begins inline again.
 *
 * [meet] Both sides change `epoch`.  If the reader's change comes first, the look acquires its
 * [begin].  Otherwise the reader acquires the look's.  All changes are read-modify-writes, so that
 * the reader acquires those of all looks.  The word of a parked reader is not believed to be
 * young without that, because epochs may have wrapped since.  Any other reader is asked before.
 */
#include "retire/retire_impl.h"

#include "cache/reclaim.h"
#include "host/os.h"

/* Sections hold bags back, and so do readers outside that have not seen their stamps. */
struct view {
    struct cpi_blocker oldest; /* of the sections */
    uintptr_t outside;         /* bags with a stamp before this one are out of the others' way */
};

static void see_section(struct view *view, const struct cpi_reader *reader, uintptr_t epoch)
{
    if (cpi_epoch_is_before(epoch, view->oldest.inside)) {
        view->oldest.inside = epoch;
        view->oldest.reader = reader;
    }
}

/* Whether all beginnings from now on see what this thread saw.  Comes before the look. */
static bool has_met(struct cpi_reader *reader)
{
    const uintptr_t *epoch = cpi_word_load(&reader->face.epoch, acquire); /* [meet] */

    return epoch == CPI_PARKED &&
           cpi_word_cas(&reader->face.epoch, &epoch, CPI_PARKED, acq_rel, acquire); /* [meet] */
}

static void look_at(struct view *view, struct cpi_reader *reader)
{
    bool met = has_met(reader);
    uintptr_t word = cpi_word_load(&reader->face.inside, acquire); /* [look] */

    if (cpi_is_inside(word))
        see_section(view, reader, word);
    else if (!met && cpi_epoch_is_before(word - 1, view->outside))
        view->outside = word - 1;
}

/* The calling thread needs no barrier for itself. */
static void look_at_own(struct view *view, struct cpi_reader *self, uintptr_t now)
{
    uintptr_t word = cpi_word_load(&self->face.inside, relaxed); /* [first] */

    if (cpi_is_inside(word))
        see_section(view, self, word);
    else
        cpi_word_store(&self->face.inside, now + 1, release); /* [seen] */
}

static struct view glance(struct cpool_domain *domain, struct cpi_reader *self)
{
    uintptr_t now = cpi_word_load(&domain->epoch, acquire); /* [now] */
    struct view view = {{NULL, now, 0}, now};

    for (size_t i = 0; i < domain->readers; i++) {
        if (&domain->reader[i] == self)
            look_at_own(&view, self, now);
        else
            look_at(&view, &domain->reader[i]);
    }
    return view;
}

uintptr_t cpi_retire_glance(struct cpi_reader *self)
{
    struct view view = glance(self->domain, self);

    return cpi_epoch_is_before(view.outside, view.oldest.inside) ? view.outside
                                                                 : view.oldest.inside;
}

/* Those outside that have not seen the epoch, which are at rest. */
static void ask(struct cpi_reader *reader, uintptr_t now, const uintptr_t *mark)
{
    const uintptr_t *epoch = cpi_word_load(&reader->face.epoch, relaxed); /* [first] */
    uintptr_t word = cpi_word_load(&reader->face.inside, relaxed);        /* [first] */

    if (epoch != CPI_PARKED && !cpi_is_inside(word) && cpi_epoch_is_before(word - 1, now))
        (void)cpi_word_cas(&reader->face.epoch, &epoch, mark, relaxed, /* [ask] */
                           relaxed);                                    /* [first] */
}

static void park(struct cpi_reader *reader, const uintptr_t *mark)
{
    const uintptr_t *epoch = mark;

    if (cpi_word_load(&reader->face.epoch, relaxed) == mark) /* [first] */
        (void)cpi_word_cas(&reader->face.epoch, &epoch, CPI_PARKED, /* [park] */
                           release, relaxed);                       /* [first] */
}

/* After the barrier no reader outside is in the way.  False if the system refuses it. */
static bool look_again(struct cpool_domain *domain, struct cpi_reader *self, struct view *view)
{
    const uintptr_t *mark = (const uintptr_t *)((uintptr_t)view | 1);
    uintptr_t now = cpi_word_load(&domain->epoch, acquire); /* [now] */

    view->oldest.reader = NULL;
    view->oldest.inside = now;
    for (size_t i = 0; i < domain->readers; i++)
        if (&domain->reader[i] != self)
            ask(&domain->reader[i], now, mark);
    if (!cpi_barrier_passed()) /* [barrier] */
        return false;
    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[i];
        uintptr_t word = cpi_word_load(&reader->face.inside, acquire); /* [look] */

        if (cpi_is_inside(word))
            see_section(view, reader, word);
        park(reader, mark);
    }
    return true;
}

uintptr_t cpi_retire_look(struct cpool_domain *domain, struct cpi_reader *self,
                          struct cpi_blocker *blocker)
{
    struct view view = glance(domain, self);

    if (cpi_epoch_is_before(view.outside, view.oldest.inside) &&
        !look_again(domain, self, &view)) {
        view.oldest.inside = view.outside;
    }
    *blocker = view.oldest;
    return view.oldest.inside;
}

static void show(cpool_reader_t *face, const uintptr_t *epoch)
{
    uintptr_t now = cpi_word_load(epoch, acquire); /* [now] */

    cpi_word_store(&face->inside, now, release); /* [begin] */
}

/* Shows the section, and then meets the looks.  Epochs may have wrapped before it was shown.  One
 * of a reader that has ended is shown, too, because its end comes, and the reader stays parked. */
void cpool_read_begin_abi1(cpool_reader_t *face)
{
    const uintptr_t *epoch = &cpi_reader_of(face)->domain->epoch;

    show(face, epoch);
    if (cpi_reader_has_ended(cpi_reader_of(face), "cpool_read_begin"))
        return;
    (void)cpi_word_exchange(&face->epoch, cpi_has_barrier() ? epoch : CPI_PARKED, /* [meet] */
                            acq_rel);
    show(face, epoch);
}
