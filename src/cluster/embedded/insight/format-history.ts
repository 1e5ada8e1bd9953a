// Histories as text.

import { describeObject } from './records.ts';
import type { HistoryEntry } from './types.ts';

/** Returns the history as text: a paragraph for each change. */
export function formatHistory(history: readonly HistoryEntry[]): string {
  return history
    .map(({ change, object, timeMs, client, request, cause, diff }) => {
      const time = new Date(timeMs).toISOString().slice(11, 23);
      const how =
        request === undefined
          ? ''
          : ` (${request.verb}${request.subresource === '' ? '' : ` ${request.subresource}`})`;
      const why =
        cause === undefined
          ? []
          : [
              `  because of ${cause.event.change} ${describeObject(cause.event.object)}` +
                (cause.request === undefined ? '' : `, by ${cause.request.client}`),
            ];
      const head = `${time} ${change} ${describeObject(object)} by ${client ?? 'the store'}${how}`;
      return [head, ...why, ...diff.map((line) => `  ${line}`)].join('\n');
    })
    .join('\n');
}
