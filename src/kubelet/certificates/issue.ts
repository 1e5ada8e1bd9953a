// Asks the API for a certificate: creates a CertificateSigningRequest and waits until an approver
// and a signer have handled it.

import {
  type CertificateSigningRequest,
  certificateSigningRequests,
  type KeyUsage,
} from '#api/groups/certificates/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { waitFor } from '#client/wait-for.ts';
import type { Clock } from '#machinery/clock.ts';

/** Usages without 'key encipherment', which keys of elliptic curves cannot have. */
export const CLIENT_USAGES: readonly KeyUsage[] = ['digital signature', 'client auth'];
export const SERVING_USAGES: readonly KeyUsage[] = ['digital signature', 'server auth'];

export interface WantedCertificate {
  /** The request, in PEM. */
  readonly request: string;
  readonly signerName: string;
  readonly usages: readonly KeyUsage[];
  /** Default: the server chooses one that begins with 'csr-'. */
  readonly name?: string;
}

type Request = Immutable<CertificateSigningRequest>;

/** Creates the request. Rejects with StatusError. */
export function submitRequest(
  client: Client,
  { request, signerName, usages, name }: WantedCertificate,
  signal: AbortSignal,
): Promise<Request> {
  return client.resource(certificateSigningRequests).create(
    {
      metadata: name === undefined ? { generateName: 'csr-' } : { name },
      spec: {
        request: Buffer.from(request).toString('base64'),
        signerName,
        usages: [...usages],
      },
    },
    { signal },
  );
}

/**
 * Waits for the certificate of a request, and returns it in PEM. Rejects if the request is denied,
 * fails, is deleted or replaced, with WaitTimeoutError, or with the signal's reason.
 */
export async function issuedCertificate(
  client: Client,
  { metadata: { name, uid } }: Request,
  limits: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<string> {
  const isIssued = (request: Request): boolean => {
    if (request.metadata.uid !== uid) throw new Error(`csr "${name}" changed UIDs`);
    const { conditions = [], certificate } = request.status;
    for (const { type, reason = '', message = '' } of conditions) {
      if (type === 'Denied')
        throw new Error(
          `certificate signing request is denied, reason: ${reason}, message: ${message}`,
        );
      if (type === 'Failed')
        throw new Error(
          `certificate signing request failed, reason: ${reason}, message: ${message}`,
        );
    }
    return conditions.some(({ type }) => type === 'Approved') && (certificate ?? '') !== '';
  };
  const resource = client.resource(certificateSigningRequests);
  const issued = await waitFor(resource, name, isIssued, { ...limits, untilDeleted: true });
  if (issued === undefined) throw new Error(`csr "${name}" was deleted`);
  return Buffer.from(issued.status.certificate ?? '', 'base64').toString('utf8');
}
