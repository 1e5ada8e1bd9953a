// The table of events.

import type * as core from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import type { TableConvertor } from '../registry/table.ts';
import { since } from './age.ts';
import { column, NAME } from './columns.ts';

type Event = Immutable<core.Event>;

export const eventTable: TableConvertor<Event> = {
  columns: [
    column('Last Seen', 'When it happened last.'),
    column('Type', 'Normal or Warning.'),
    column('Reason', 'Why, in one word.'),
    column('Object', 'What it happened to.'),
    column('Subobject', 'Which part of that.', { wide: true }),
    column('Source', 'Who tells.', { wide: true }),
    column('Message', 'What happened, for people.'),
    column('First Seen', 'When it happened first.', { wide: true }),
    column('Count', 'How often it happened.', { type: 'integer', wide: true }),
    { ...NAME, priority: 1 },
  ],
  cells(event, now) {
    const first = event.firstTimestamp ?? event.eventTime;
    const last = event.series?.lastObservedTime ?? event.lastTimestamp ?? first;
    const count = event.series?.count ?? event.count ?? 1;
    const { kind = '', name = '', fieldPath = '' } = event.involvedObject;
    const source = [
      event.source?.component ?? event.reportingComponent ?? '',
      event.source?.host ?? event.reportingInstance ?? '',
    ];
    return [
      since(last, now),
      event.type ?? '',
      event.reason ?? '',
      name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
      fieldPath,
      source.filter((part) => part !== '').join(', '),
      (event.message ?? '').trim(),
      since(first, now),
      count === 0 ? 1 : count,
      event.metadata.name,
    ];
  },
};
