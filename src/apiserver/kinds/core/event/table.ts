// The table of events. As in upstream, clients sort: a list has its usual order.

import type * as core from '#api/groups/core/v1/index.ts';
import { toCore } from '#api/groups/events/v1/conversion.ts';
import type * as newer from '#api/groups/events/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { since } from '#apiserver/tables/age.ts';
import { column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Event = Immutable<core.Event>;

/** The table of the newer form. */
export const newerEventTable: TableConvertor<Immutable<newer.Event>> = {
  get columns() {
    return eventTable.columns;
  },
  cells: (event, now) => eventTable.cells(asCore(event), now),
};

function asCore(event: Immutable<newer.Event>): Event {
  return toCore(event);
}

export const eventTable: TableConvertor<Event> = {
  columns: [
    column('Last Seen', 'Time of the last occurrence.'),
    column('Type', 'Normal or Warning.'),
    column('Reason', 'Reason in one word.'),
    column('Object', 'Object that the event is about.'),
    column('Subobject', 'Part of the object that the event is about.', { wide: true }),
    column('Source', 'Component that reported the event.', { wide: true }),
    column('Message', 'Message for users.'),
    column('First Seen', 'Time of the first occurrence.', { wide: true }),
    column('Count', 'Number of occurrences.', { wide: true }),
    { ...column('Name', 'Name of the event.', { wide: true }), format: 'name' },
  ],
  cells(event, now) {
    const first = event.firstTimestamp ?? event.eventTime;
    const last =
      event.series === undefined ? (event.lastTimestamp ?? first) : event.series.lastObservedTime;
    // A single event in the newer form has no count.
    const count = event.series === undefined ? event.count || 1 : (event.series.count ?? 0);
    const { kind = '', name = '', fieldPath = '' } = event.involvedObject;
    return [
      since(last, now),
      event.type ?? '',
      event.reason ?? '',
      name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
      fieldPath,
      sourceOf(event),
      (event.message ?? '').trim(),
      since(first, now),
      count,
      event.metadata.name,
    ];
  },
};

function sourceOf({ source, reportingComponent, reportingInstance }: Event): string {
  const component = source?.component || reportingComponent || '';
  const instance = source?.host || reportingInstance || '';
  return instance === '' ? component : `${component}, ${instance}`;
}
