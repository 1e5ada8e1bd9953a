// Turns the events about an object into causes: the latest of each reason.

import { type Cause, cause } from './cause.ts';
import { eventTime, type EventObject, type ObjectSet } from './object-set.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { humanDuration } from '#machinery/text/duration.ts';

/** The maximum number of events shown for an object. */
const SHOWN = 5;
/** The time, number and component that `eventCause` adds to the message. */
const SUFFIX = / \([^()]* ago[^()]*\)$/;
/** Older warnings are ignored. */
const RECENT_MS = 3_600_000;

/** Names for rejections by admission, by the text of the server's message. */
const ADMISSION: readonly (readonly [RegExp, string])[] = [
  [/exceeded quota/, 'a quota rejects it'],
  [/failed quota/, 'a quota rejects it'],
  [/violates PodSecurity/, 'pod security rejects it'],
  [/admission webhook .* denied the request/, 'a webhook rejects it'],
  [/failed calling webhook/, 'a webhook cannot be called'],
  [/ValidatingAdmissionPolicy/, 'an admission policy rejects it'],
  [/(minimum|maximum) .*usage per|must be specified for:/, 'a limit range or quota rejects it'],
  [/serviceaccount .* not found/, 'its service account does not exist'],
  [/is forbidden/, 'admission rejects it'],
  [/is invalid/, 'it is not valid'],
];

/** Returns the warnings about the object of the last hour, one for each reason, the latest first. */
export function warnings(object: KubeObject, objects: ObjectSet, now: number): readonly Cause[] {
  const seen = new Set<string>();
  const causes: Cause[] = [];
  for (const event of objects.eventsOf(object)) {
    if (event.type !== 'Warning' || now - eventTime(event) > RECENT_MS) continue;
    const reason = event.reason ?? '';
    if (seen.has(reason) || causes.length >= SHOWN) continue;
    seen.add(reason);
    causes.push(eventCause(event, now));
  }
  return causes;
}

/** Returns the events whose message is in none of the causes: conditions and states repeat their events. */
export function notSaid(events: readonly Cause[], causes: readonly Cause[]): readonly Cause[] {
  const said = causes.map(({ text }) => text).join('\n');
  return events.filter(({ text }) => !said.includes(text.replace(SUFFIX, '')));
}

/** Returns an event as a cause. It is no problem by itself: whether it still holds, the object's status says. */
function eventCause(event: EventObject, now: number): Cause {
  const { reason = '', message = '', type } = event;
  const component = event.reportingComponent || event.source?.component || '';
  const times = event.series?.count ?? event.count ?? 1;
  const ago = humanDuration(Math.max(0, now - eventTime(event)));
  const often = times > 1 ? `, ${times} times` : '';
  const by = component ? `, ${component}` : '';
  const admission = /^Failed(Create|Update)/.test(reason) ? admissionText(message) : '';
  return cause(
    type === 'Warning' ? 'problem' : 'info',
    `${admission}${message} (${ago} ago${often}${by})`,
    { source: `event ${reason}` },
  );
}

function admissionText(message: string): string {
  const found = ADMISSION.find(([pattern]) => pattern.test(message));
  return found === undefined ? '' : `${found[1]}: `;
}
