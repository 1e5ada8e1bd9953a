// Certificates in Secrets of type kubernetes.io/tls.

import { createHash, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Secret } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Certificate } from '../model.ts';

/** Objects are immutable: a Secret is parsed once. */
const parsed = new WeakMap<Immutable<Secret>, Certificate | string>();

/**
 * Returns the certificate in a Secret, or the reason why it has none. The reason never contains
 * data of the Secret.
 */
export function certificateOf(secret: Immutable<Secret>): Certificate | string {
  let result = parsed.get(secret);
  if (result === undefined) {
    result = parse(secret);
    parsed.set(secret, result);
  }
  return result;
}

function parse({ type, data }: Immutable<Secret>): Certificate | string {
  if (type !== 'kubernetes.io/tls' && type !== 'Opaque' && type !== undefined)
    return `it has the type ${JSON.stringify(type)}`;
  const cert = decode(data?.['tls.crt']);
  const key = decode(data?.['tls.key']);
  if (cert === '' || key === '') return 'it has no tls.crt or no tls.key';
  try {
    // Throws if either cannot be parsed, or the key does not match the certificate.
    createSecureContext({ cert, key });
    const leaf = new X509Certificate(cert);
    const id = createHash('sha256').update(cert).update('\0').update(key).digest('hex');
    return { id, cert, key, matches: (serverName) => leaf.checkHost(serverName) !== undefined };
  } catch (error) {
    return `its certificate and key cannot be used: ${errorMessage(error)}`;
  }
}

const decode = (base64: string | undefined): string =>
  Buffer.from(base64 ?? '', 'base64').toString('utf8');
