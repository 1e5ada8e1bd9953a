// A certificate that was issued, with its private key and the facts that rotation depends on.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { pemOf } from '#api/groups/certificates/v1/der-writer.ts';
import type { RequestTemplate } from '#api/groups/certificates/v1/make-request.ts';
import { pemBlocks } from '#api/groups/certificates/v1/pem.ts';

export interface IssuedPair {
  /** The certificate, then those of its issuers, in PEM. */
  readonly cert: string;
  /** The private key, in PEM. */
  readonly key: string;
  /** Wall-clock milliseconds. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly leaf: X509Certificate;
}

/**
 * Returns the pair of PEM texts, which may have other blocks, too: upstream keeps both parts in one
 * file. Throws Error if a part is missing, or if the key is that of another certificate.
 */
export function certificateOf(certText: string, keyText: string): IssuedPair {
  const certificates = [...pemBlocks(certText)].filter(({ type }) => type === 'CERTIFICATE');
  const keyBlock = [...pemBlocks(keyText)].find(({ type }) => type.endsWith('PRIVATE KEY'));
  if (certificates.length === 0)
    throw new Error('failed to find any PEM data in certificate input');
  if (keyBlock === undefined) throw new Error('failed to find any PEM data in key input');
  const cert = certificates.map(({ bytes }) => pemOf('CERTIFICATE', bytes)).join('');
  const key = pemOf(keyBlock.type, keyBlock.bytes);
  const leaf = new X509Certificate(cert);
  if (!leaf.checkPrivateKey(createPrivateKey(key)))
    throw new Error('private key does not match public key');
  return {
    cert,
    key,
    leaf,
    notBefore: Date.parse(leaf.validFrom),
    notAfter: Date.parse(leaf.validTo),
  };
}

/** Reports whether the certificate has all that the template asks for; it may have more. */
export function satisfies({ leaf }: IssuedPair, template: RequestTemplate): boolean {
  // Values of a subject are texts, or lists where a type occurs repeatedly.
  const subject = leaf.toLegacyObject().subject as Readonly<
    Record<string, string | readonly string[] | undefined>
  >;
  const organizations = [subject['O'] ?? []].flat();
  return (
    [subject['CN'] ?? []].flat().at(-1) === template.commonName &&
    template.organizations.every((each) => organizations.includes(each)) &&
    template.dnsNames.every(
      (name) => leaf.checkHost(name, { wildcards: false, subject: 'never' }) !== undefined,
    ) &&
    template.ipAddresses.every((address) => leaf.checkIP(address) !== undefined)
  );
}
