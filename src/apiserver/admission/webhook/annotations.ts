// Annotations of webhooks for the audit log: their own, whether they changed the object, and
// whether the request continued although one could not be called. Keys and values are upstream's.

import type { AdmissionResponse } from '#api/groups/admission/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { stringifyJson } from '#machinery/text/json-integers.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { Hook } from './configurations.ts';

/** The place of a call: the round of calls, and the webhook's place among those of the request. */
export interface CallPlace {
  readonly round: number;
  readonly index: number;
}

const placeText = ({ round, index }: CallPlace): string => `round_${round}_index_${index}`;

/** Adds the annotations of a webhook's response. */
export function annotateResponse(
  { caller }: AdmissionAttributes,
  { webhook }: Hook,
  { auditAnnotations = {} }: Immutable<AdmissionResponse>,
): void {
  if (caller?.audit === undefined) return;
  for (const [key, value] of Object.entries(auditAnnotations))
    caller.audit.annotate(`${webhook.name}/${key}`, value);
}

export function annotateMutation(
  { caller }: AdmissionAttributes,
  { configuration, webhook }: Hook,
  place: CallPlace,
  mutated: boolean,
): void {
  caller?.audit?.annotate(
    `mutation.webhook.admission.k8s.io/${placeText(place)}`,
    JSON.stringify({ configuration, webhook: webhook.name, mutated }),
  );
}

/** `patch`: the operations of a JSON patch. They are recorded from the level Request on. */
export function annotatePatch(
  { caller }: AdmissionAttributes,
  { configuration, webhook }: Hook,
  place: CallPlace,
  patch: unknown,
): void {
  if (caller?.audit?.records('Request') !== true) return;
  caller.audit.annotate(
    `patch.webhook.admission.k8s.io/${placeText(place)}`,
    stringifyJson({ configuration, webhook: webhook.name, patch, patchType: 'JSONPatch' }),
  );
}

/** The webhook could not be called, and its failure policy is Ignore. */
export function annotateFailOpen(
  { caller }: AdmissionAttributes,
  { type, webhook }: Hook,
  place: CallPlace,
): void {
  const kind = type === 'admit' ? 'mutation' : 'validating';
  caller?.audit?.annotate(
    `failed-open.${kind}.webhook.admission.k8s.io/${placeText(place)}`,
    webhook.name,
  );
}
