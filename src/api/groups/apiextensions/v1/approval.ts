// The approval that definitions in Kubernetes' own groups require: an annotation with the URL of
// the review, or a reason why there is none. https://github.com/kubernetes/enhancements/pull/1111

import { quote } from '#machinery/text/go-format.ts';

/** Contains the URL of the approval, or a text that begins with 'unapproved'. */
export const APPROVED_ANNOTATION = 'api-approved.kubernetes.io';

export interface Approval {
  readonly state: 'missing' | 'invalid' | 'approved' | 'bypassed';
  /** The state as text for clients. */
  readonly reason: string;
}

const REVIEW = 'see https://github.com/kubernetes/enhancements/pull/1111';
const UNAPPROVED = 'unapproved';
/** An absolute URL with a host, as Go's url.ParseRequestURI accepts it. */
const URL_WITH_HOST = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/(?:[^/?#@ ]*@)?[^/?#@ ]+(?:[/?].*)?$/s;
const CONTROL = /\p{Cc}/u;

/** Reports whether definitions of the group require an approval. */
export function isProtectedGroup(group: string): boolean {
  return ['k8s.io', 'kubernetes.io'].some(
    (domain) => group === domain || group.endsWith(`.${domain}`),
  );
}

/** Returns the state of the approval in the annotations. */
export function approvalOf(annotations: Readonly<Record<string, string>> | undefined): Approval {
  const annotation = annotations?.[APPROVED_ANNOTATION] ?? '';
  const mustHave = `protected groups must have approval annotation ${quote(APPROVED_ANNOTATION)}`;
  if (annotation === '') return { state: 'missing', reason: `${mustHave}, ${REVIEW}` };
  if (annotation.startsWith(UNAPPROVED))
    return { state: 'bypassed', reason: `not approved: ${quote(annotation)}` };
  if (URL_WITH_HOST.test(annotation) && !CONTROL.test(annotation))
    return { state: 'approved', reason: `approved in ${annotation}` };
  return {
    state: 'invalid',
    reason: `${mustHave} with either a URL or a reason starting with "${UNAPPROVED}", ${REVIEW}`,
  };
}
