// Rules of the newer form of events, tested with events in their stored form.

import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import type * as core from '#api/groups/core/v1/types.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import { validateNewerEvent, validateNewerEventUpdate } from './validation.ts';

const text = (errors: FieldErrorList): string[] => errors.map(String);
const time = '2026-03-01T10:00:00Z';
const later = '2026-03-01T11:00:00Z';
const micro = '2026-03-01T10:00:00.000000Z';
const microLater = '2026-03-01T11:00:00.000000Z';
const event = variation<core.Event>('core/v1.Event', {
  metadata: { name: 'a.1', namespace: 'web' },
  involvedObject: { kind: 'Pod', name: 'front', namespace: 'web' },
  reportingComponent: 'example.com/watcher',
  reportingInstance: 'watcher-1',
  eventTime: micro,
  type: 'Normal',
  reason: 'Seen',
  action: 'Watch',
  message: 'all is well',
});

describe('a new one', () => {
  const unset = (name: string): string => `${name}: Invalid value: "": needs to be unset`;
  test.each(
    rows<[change: object, errors: readonly string[]]>([
      [{}, []],
      [
        {
          type: 'Warning',
          series: { count: 2, lastObservedTime: microLater },
          related: { kind: 'Node', name: 'n' },
        },
        [],
      ],
      [{ source: {} }, []],
      [
        { metadata: { name: 'A' } },
        [`metadata.name: Invalid value: "A": ${NAME_MESSAGES.subdomain}`],
      ],
      [{ eventTime: null }, ['eventTime: Required value']],
      [{ type: null }, ['type: Invalid value: "": has invalid value: ']],
      [{ type: 'Odd' }, ['type: Invalid value: "": has invalid value: Odd']],
      [{ firstTimestamp: time }, [unset('firstTimestamp')]],
      [{ lastTimestamp: time }, [unset('lastTimestamp')]],
      [{ count: 1 }, [unset('count')]],
      [{ source: { component: 'a' } }, [unset('source')]],
      [{ source: { host: 'a' } }, [unset('source')]],
      [
        { series: { count: 1, lastObservedTime: micro } },
        ['series.count: Invalid value: "": should be at least 2'],
      ],
      [{ series: { count: 2 } }, ['series.lastObservedTime: Required value']],
      [
        { series: {}, eventTime: null, count: 7 },
        [
          'series.count: Invalid value: "": should be at least 2',
          'series.lastObservedTime: Required value',
          'eventTime: Required value',
          unset('count'),
        ],
      ],
    ]),
  )('%s', (_, change, errors) => {
    expect(text(validateNewerEvent(event(change)))).toEqual(errors);
  });
});

describe('an old one', () => {
  const update = (now: object, old: object = {}): string[] =>
    text(validateNewerEventUpdate(event(now), event(old)));
  const fixed = (name: string, value: unknown): string =>
    `${name}: Invalid value: ${JSON.stringify(value)}: field is immutable`;

  test('may update its series', () => {
    expect(update({ metadata: { labels: { a: 'b' } } })).toEqual([]);
    const series = (count: number): object => ({ series: { count, lastObservedTime: microLater } });
    expect(update(series(2))).toEqual([]);
    expect(update(series(3), series(2))).toEqual([]);
    expect(update({}, series(2))).toEqual([]);
    expect(update(series(1), series(2))).toEqual([
      'series.count: Invalid value: "": should be at least 2',
    ]);
    expect(update({ series: { count: 3 } }, series(2))).toEqual([
      'series.lastObservedTime: Required value',
    ]);
    expect(update(series(1), series(1))).toEqual([]);
  });

  test.each(
    rows<[change: object, error: string]>([
      [
        { involvedObject: { name: 'back' } },
        fixed('involvedObject', { kind: 'Pod', namespace: 'web', name: 'back' }),
      ],
      [{ reason: 'Other' }, fixed('reason', 'Other')],
      [{ message: 'other' }, fixed('message', 'other')],
      [{ source: { component: 'c' } }, fixed('source', { component: 'c' })],
      [{ firstTimestamp: later }, fixed('firstTimestamp', later)],
      [{ lastTimestamp: later }, fixed('lastTimestamp', later)],
      [{ count: 2 }, fixed('count', 2)],
      [{ type: 'Warning' }, fixed('type', 'Warning')],
      [{ eventTime: microLater }, fixed('eventTime', microLater)],
      [{ action: 'Other' }, fixed('action', 'Other')],
      [{ related: { kind: 'Node', name: 'n' } }, fixed('related', { kind: 'Node', name: 'n' })],
      [
        { reportingComponent: 'example.com/other' },
        fixed('reportingController', 'example.com/other'),
      ],
      [{ reportingInstance: 'other' }, fixed('reportingInstance', 'other')],
    ]),
  )('keeps its %s', (_, change, error) => {
    expect(update(change)).toEqual([error]);
  });
});
