// Reports certificates that have expired or expire soon.

import { X509Certificate } from 'node:crypto';
import { humanDuration } from '#machinery/text/duration.ts';
import { type Cause, cause } from './cause.ts';

const DAY_MS = 86_400_000;
/** A certificate that is renewed automatically is never this near its end. */
const WARN_SHARE = 0.1;
const WARN_AT_MOST_MS = 30 * DAY_MS;
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;
/** The maximum number of certificates that are read from a bundle. */
const MAX_CERTIFICATES = 100;

/**
 * Returns the problem of a certificate, or of the last valid one of a bundle: expired, not valid yet, or near its
 * end. `what` begins the text: 'the client certificate of the kubeconfig'.
 */
export function certificateProblem(pem: string, what: string, now: number): Cause | undefined {
  const certificates = (pem.match(PEM) ?? []).slice(0, MAX_CERTIFICATES).flatMap(parse);
  const last = certificates.toSorted((a, b) => b.to - a.to)[0];
  if (last === undefined) return cause('problem', `${what} cannot be read`);
  const { from, to } = last;
  const until = new Date(to).toISOString();
  if (to <= now)
    return cause('problem', `${what} has expired ${humanDuration(now - to)} ago (${until})`);
  if (from > now)
    return cause('problem', `${what} is not valid before ${new Date(from).toISOString()}`);
  if (to - now > Math.min((to - from) * WARN_SHARE, WARN_AT_MOST_MS)) return undefined;
  return cause('problem', `${what} expires in ${humanDuration(to - now)} (${until})`);
}

function parse(pem: string): readonly { readonly from: number; readonly to: number }[] {
  try {
    const { validFrom, validTo } = new X509Certificate(pem);
    return [{ from: Date.parse(validFrom), to: Date.parse(validTo) }];
  } catch {
    // Not a certificate: the caller learns it from there being none.
    return [];
  }
}
