// One change of the storage, as the watchers of a resource see it.

import type { KeyValue, StorageEvent } from '#storage/interface.ts';
import { type ServedObject, SharedWatchEvent } from './encoded-object.ts';
import type { SelectableFields } from './selectable-fields.ts';
import type { Selection } from './selection.ts';
import type { ChangedPlace } from './subscriber-index.ts';

export type ChangeEvent = Exclude<StorageEvent, { type: 'progress' }>;

/** One change, with the values that all of its watchers share. */
export class Change implements ChangedPlace {
  readonly revision: number;
  readonly namespace: string;
  readonly name: string;
  readonly values: readonly string[];
  /** The new state. Absent: the object was deleted. */
  readonly current: ServedObject | undefined;
  readonly previous: ServedObject | undefined;
  #added: SharedWatchEvent | undefined;
  #modified: SharedWatchEvent | undefined;
  #deleted: SharedWatchEvent | undefined;

  constructor(
    revision: number,
    { namespace, name, values }: ChangedPlace,
    current: ServedObject | undefined,
    previous: ServedObject | undefined,
  ) {
    this.revision = revision;
    this.namespace = namespace;
    this.name = name;
    this.values = values;
    this.current = current;
    this.previous = previous;
  }

  /**
   * Returns the event for a watcher with a selection: an object that begins to match is added, one
   * that ceases to match is deleted. Undefined: the change is not visible to it.
   */
  seenThrough(selection: Selection, fields: SelectableFields): SharedWatchEvent | undefined {
    const { current, previous } = this;
    const is = current !== undefined && selection.matches(current, fields);
    const was = previous !== undefined && selection.matches(previous, fields);
    if (is && current !== undefined) {
      if (was) return (this.#modified ??= new SharedWatchEvent('MODIFIED', current));
      return (this.#added ??= new SharedWatchEvent('ADDED', current));
    }
    if (!was || previous === undefined) return undefined;
    // The last visible state, with the revision of the change that ended its visibility.
    return (this.#deleted ??= new SharedWatchEvent('DELETED', previous.at(this.revision)));
  }
}

/** Returns the key of the object that the event is about. */
export function keyOf(event: ChangeEvent): string {
  return event.type === 'put' ? event.kv.key : event.key;
}

/** Returns the states in the event, the new one first. */
export function statesOf(event: StorageEvent): readonly KeyValue[] {
  if (event.type === 'progress') return [];
  const previous = event.previous === undefined ? [] : [event.previous];
  return event.type === 'put' ? [event.kv, ...previous] : previous;
}
