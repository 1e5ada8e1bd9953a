// Certificates for tests over a real port: of an authority, of the server, and of clients.

import { webcrypto } from 'node:crypto';

import type { Extension } from '@peculiar/x509';

import type { TlsConfig } from '../config.ts';

export interface Credentials {
  readonly key: string;
  readonly cert: string;
}

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 24 * 3600 * 1000;

export interface TestAuthority {
  /** The certificate in PEM. */
  readonly cert: string;
  /** Returns a serving certificate. `dnsNames`: names in addition to 127.0.0.1 and localhost. */
  server(dnsNames?: readonly string[]): Promise<TlsConfig>;
  client(name: string, groups?: readonly string[]): Promise<Credentials>;
}

export async function makeTestAuthority(name = 'test-ca'): Promise<TestAuthority> {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  const keys = (): Promise<webcrypto.CryptoKeyPair> =>
    webcrypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  // TLS checks certificates against this machine's time, not against a test's clock.
  const notBefore = new Date(performance.timeOrigin - DAY_MS);
  const notAfter = new Date(performance.timeOrigin + DAY_MS);
  const authorityKeys = await keys();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys: authorityKeys,
    notBefore,
    notAfter,
    signingAlgorithm: EC,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  let serial = 1;
  const sign = async (subject: string, extensions: Extension[]): Promise<Credentials> => {
    const own = await keys();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: (++serial).toString(16).padStart(2, '0'),
      subject,
      issuer: authority.subject,
      notBefore,
      notAfter,
      publicKey: own.publicKey,
      signingKey: authorityKeys.privateKey,
      signingAlgorithm: EC,
      extensions,
    });
    const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', own.privateKey));
    const key = [
      `-----BEGIN PRIVATE KEY-----`,
      der.toString('base64').replace(/(.{64})/g, '$1\n'),
      `-----END PRIVATE KEY-----`,
      '',
    ].join('\n');
    return { key, cert: certificate.toString('pem') };
  };
  const cert = authority.toString('pem');
  return {
    cert,
    server: async (names = []) => {
      const alternatives = new x509.SubjectAlternativeNameExtension([
        { type: 'ip', value: '127.0.0.1' },
        ...['localhost', ...names].map((value) => ({ type: 'dns' as const, value })),
      ]);
      return { ...(await sign('CN=server', [alternatives])), clientCa: cert };
    },
    client: (user, groups = []) =>
      sign([`CN=${user}`, ...groups.map((group) => `O=${group}`)].join(','), []),
  };
}
