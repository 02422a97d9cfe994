/* Open MPI describes a datatype by an array of entries. An element is `count` blocks of `blocklen` basic
 * items, `extent` bytes apart; a loop repeats the entries up to its end marker, `extent` bytes apart. Of Open
 * MPI's two arrays the one that is not optimised is read, because the datatype's constructors wrote it;
 * stria's layout compiler brings the layout into canonical form.
 */
#include "description.h"

#include <stdlib.h>

#include "opal/datatype/opal_datatype_internal.h"

/* The children of a composite layout under construction. Consecutive single blocks are collected in arrays of
 * their own and become one child, because an indexed datatype may have very many of them, and one child for
 * each would cost more than the datatype itself. */
typedef struct parts {
  int64_t* counts;
  int64_t* displacements;
  stria_layout_t** children;
  size_t used, room;
  int64_t* block_bytes;
  int64_t* block_displacements;
  size_t blocks, block_room;
} parts_t;

static bool grow(void** array, size_t item, size_t room) {
  void* larger = realloc(*array, item * room);
  if (NULL == larger) return false;
  *array = larger;
  return true;
}

/* Adds a child, and takes ownership of it, even on failure. False: out of memory, or `child` is NULL. */
static bool add_child(parts_t* parts, stria_layout_t* child, int64_t displacement) {
  if (NULL == child) return false;
  if (parts->used == parts->room) {
    size_t room = parts->room ? 2 * parts->room : 8;
    if (!grow((void**)&parts->counts, sizeof(int64_t), room) ||
        !grow((void**)&parts->displacements, sizeof(int64_t), room) ||
        !grow((void**)&parts->children, sizeof(stria_layout_t*), room)) {
      stria_layout_free(child);
      return false;
    }
    parts->room = room;
  }
  parts->counts[parts->used] = 1;
  parts->displacements[parts->used] = displacement;
  parts->children[parts->used++] = child;
  return true;
}

/* Turns the collected blocks into one child. Called before any other child is added, which keeps the order of
 * the typemap. */
static bool flush_blocks(parts_t* parts) {
  if (0 == parts->blocks) return true;
  stria_layout_t* byte = NULL;
  stria_layout_t* indexed = NULL;
  bool ok = STRIA_OK == stria_layout_bytes(1, &byte) &&
            STRIA_OK == stria_layout_indexed((int64_t)parts->blocks, parts->block_bytes,
                                             parts->block_displacements, byte, &indexed);
  stria_layout_free(byte);
  parts->blocks = 0;
  return ok && add_child(parts, indexed, 0);
}

/* Collects a single block. False: out of memory. */
static bool add_block(parts_t* parts, int64_t displacement, int64_t bytes) {
  if (parts->blocks == parts->block_room) {
    size_t room = parts->block_room ? 2 * parts->block_room : 16;
    if (!grow((void**)&parts->block_bytes, sizeof(int64_t), room) ||
        !grow((void**)&parts->block_displacements, sizeof(int64_t), room)) {
      return false;
    }
    parts->block_room = room;
  }
  parts->block_bytes[parts->blocks] = bytes;
  parts->block_displacements[parts->blocks++] = displacement;
  return true;
}

/* A layout of `count` times `child`, `stride` bytes apart, the first at displacement 0. Takes ownership of
 * `child`. NULL on failure. */
static stria_layout_t* repeated(int64_t count, int64_t stride, stria_layout_t* child) {
  stria_layout_t* vector = NULL;
  if (NULL != child) (void)stria_layout_vector(count, 1, stride, child, &vector);
  stria_layout_free(child);
  return vector;
}

static bool add_element(parts_t* parts, const ddt_elem_desc_t* element) {
  const int64_t bytes =
      (int64_t)(element->blocklen * opal_datatype_basicDatatypes[element->common.type]->size);
  if (0 == element->count || 0 == bytes) return true;
  if (1 == element->count) return add_block(parts, element->disp, bytes);
  stria_layout_t* block = NULL;
  return flush_blocks(parts) && STRIA_OK == stria_layout_bytes(bytes, &block) &&
         add_child(parts, repeated(element->count, element->extent, block), element->disp);
}

static stria_layout_t* convert(const dt_elem_desc_t* entries, size_t count);

static bool add_entries(parts_t* parts, const dt_elem_desc_t* entries, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const dt_elem_desc_t* entry = &entries[i];
    if (entry->elem.common.flags & OPAL_DATATYPE_FLAG_DATA) {
      if (!add_element(parts, &entry->elem)) return false;
    } else if (OPAL_DATATYPE_LOOP == entry->elem.common.type) {
      const size_t items = entry->loop.items; /* entries from this one, included, to the end marker */
      if (0 == items || i + items >= count || OPAL_DATATYPE_END_LOOP != entries[i + items].elem.common.type) {
        return false;
      }
      if (!flush_blocks(parts)) return false;
      stria_layout_t* body = convert(entry + 1, items - 1);
      if (!add_child(parts, repeated(entry->loop.loops, entry->loop.extent, body), 0)) return false;
      i += items;
    }
  }
  return flush_blocks(parts);
}

/* Makes a layout of the entries. NULL: they are not valid, or out of memory. */
static stria_layout_t* convert(const dt_elem_desc_t* entries, size_t count) {
  parts_t parts = {0};
  stria_layout_t* layout = NULL;
  if (add_entries(&parts, entries, count)) {
    if (0 == parts.used) {
      (void)stria_layout_bytes(0, &layout);
    } else if (1 == parts.used && 0 == parts.displacements[0]) {
      layout = parts.children[0];
      parts.used = 0;
    } else {
      (void)stria_layout_composite((int64_t)parts.used, parts.counts, parts.displacements,
                                   (const stria_layout_t* const*)parts.children, &layout);
    }
  }
  for (size_t i = 0; i < parts.used; ++i) stria_layout_free(parts.children[i]);
  free(parts.counts);
  free(parts.displacements);
  free(parts.children);
  free(parts.block_bytes);
  free(parts.block_displacements);
  return layout;
}

stria_layout_t* pml_stria_layout_of(const opal_datatype_t* type) {
  stria_layout_t* data = convert(type->desc.desc, NULL == type->desc.desc ? 0 : type->desc.used);
  stria_layout_t* layout = NULL;
  stria_layout_bounds_t bounds;
  if (NULL != data && STRIA_OK == stria_layout_bounds(data, &bounds) && bounds.lower_bound == type->lb &&
      bounds.extent == type->ub - type->lb) {
    layout = data;
  } else {
    if (NULL != data) (void)stria_layout_resized(data, type->lb, type->ub - type->lb, &layout);
    stria_layout_free(data);
  }
  if (NULL != layout &&
      (STRIA_OK != stria_layout_bounds(layout, &bounds) || bounds.size != (int64_t)type->size)) {
    stria_layout_free(layout);
    layout = NULL;
  }
  return layout;
}
