// Validation of the certificates that a conversion webhook is verified with. Messages are those of client-go's transport.

import { X509Certificate } from 'node:crypto';

/** One PEM block: its type, and the lines between its first and its last. */
const BLOCK = /^-----BEGIN ([^\n-]+)-----[ \t\r]*\n([^-]*)^-----END \1-----[ \t\r]*$/gm;
const HEADER = /^[^:\n]+:/m;

/** Returns what is wrong with a bundle of certificates, base64 of PEM; undefined if it can be used, or if it is empty. */
export function caBundleProblem(caBundle: string | undefined): string | undefined {
  if (caBundle === undefined || caBundle === '') return undefined;
  const problem = pemProblem(Buffer.from(caBundle, 'base64').toString('latin1'));
  return problem === undefined ? undefined : `unable to load root certificates: ${problem}`;
}

/** A bundle can be used if one of its certificates can be. */
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
    // OpenSSL words its errors otherwise than Go does.
    return 'x509: malformed certificate';
  }
}
