// Validation of a conversion webhook's CA bundle. Messages are those of client-go's transport.

import { X509Certificate } from 'node:crypto';

/** A PEM block: its type, and the lines between its first and its last line. */
const BLOCK = /^-----BEGIN ([^\n-]+)-----[ \t\r]*\n([^-]*)^-----END \1-----[ \t\r]*$/gm;
const HEADER = /^[^:\n]+:/m;

/**
 * Returns the reason why a CA bundle (PEM in base64) is unusable; undefined if it is usable or
 * empty.
 */
export function caBundleProblem(caBundle: string | undefined): string | undefined {
  if (caBundle === undefined || caBundle === '') return undefined;
  const problem = pemProblem(Buffer.from(caBundle, 'base64').toString('latin1'));
  return problem === undefined ? undefined : `unable to load root certificates: ${problem}`;
}

/** A bundle is usable if one of its certificates is. */
function pemProblem(pem: string): string | undefined {
  let problem: string | undefined;
  let end = 0;
  for (const block of pem.matchAll(BLOCK)) {
    const [text, type, body = ''] = block;
    end = block.index + text.length;
    if (type !== 'CERTIFICATE' || HEADER.test(body)) continue;
    const reason = certificateProblem(body);
    if (reason === undefined) return undefined;
    problem ??= `failed to parse certificate: ${reason}`;
  }
  if (problem !== undefined) return problem;
  return pem.slice(end).trim() === '' && end > 0
    ? 'no valid certificate authority data seen'
    : 'unable to parse bytes as PEM block';
}

function certificateProblem(base64: string): string | undefined {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64')).raw.length === 0
      ? 'x509: malformed certificate'
      : undefined;
  } catch {
    // OpenSSL's errors differ from Go's.
    return 'x509: malformed certificate';
  }
}
