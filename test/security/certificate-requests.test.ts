// Attack: a certificate signing request that admission reads in one way, and whose certificate
// other programs read in another way. With a subject string in BMPString, the group system:masters
// once passed CertificateSubjectRestriction.
//
//
//
// The test signs each request that our reader accepts. OpenSSL (by Node, as the API server
// authenticates clients) and @peculiar/x509 must read from the certificate exactly the names that
// our reader read from the request.

import 'reflect-metadata';
import {
  X509Certificate as PeculiarCertificate,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509';
import { generateKeyPairSync, sign, X509Certificate } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import { encodeForStorage } from '#api/machinery/codec/storage-codec.ts';
import { pemBlocks } from '#api/groups/certificates/v1/pem.ts';
import {
  type CertificateRequest,
  parseCertificateRequest,
} from '#api/groups/certificates/v1/request.ts';
import { CertificateSigner } from '#controllers/certificates/index.ts';
import { makeAuthority } from '#controllers/certificates/testing/authority.ts';
import { makeCertificate } from '#controllers/certificates/x509.ts';
import { startTestCluster, type TestCluster } from '#controllers/testing/test-cluster.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Storage } from '#storage/interface.ts';

// Returns minimal DER.
const tlv = (tag: number, ...values: readonly Uint8Array[]): Buffer => {
  const value = Buffer.concat(values);
  const { length } = value;
  const bytes =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([
    Buffer.from([
      tag,
      ...(length < 0x10000 ? bytes : [0x83, length >> 16, (length >> 8) & 0xff, length & 0xff]),
    ]),
    value,
  ]);
};
const oid = (hex: string): Buffer => tlv(0x06, Buffer.from(hex, 'hex'));
const [CN, O, OU, EMAIL] = ['550403', '55040a', '55040b', '2a864886f70d010901'] as const;
const pair = (type: string, tag: number, value: Uint8Array): Buffer =>
  tlv(0x30, oid(type), tlv(tag, value));
const utf8 = (type: string, value: string): Buffer => pair(type, 0x0c, Buffer.from(value));
const utf16 = (text: string, isBigEndian: boolean): Buffer => {
  const bytes = Buffer.from(text, 'utf16le');
  return isBigEndian ? bytes.swap16() : bytes;
};
const utf32 = (text: string): Buffer =>
  Buffer.concat([...text].map((character) => Buffer.from([0, 0, 0, character.charCodeAt(0)])));

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicKey = keys.publicKey.export({ type: 'spki', format: 'der' });
const ECDSA_SHA256 = tlv(0x30, oid('2a8648ce3d040302'));

/** Returns a signed request for this subject. `subject`: the DER of the sets of a name. */
function requestInfo(subject: readonly Buffer[], alternativeNames?: readonly Buffer[]): Buffer {
  const extension = (names: readonly Buffer[]): Buffer =>
    tlv(
      0x30,
      oid('2a864886f70d01090e'),
      tlv(0x31, tlv(0x30, tlv(0x30, oid('551d11'), tlv(0x04, tlv(0x30, ...names))))),
    );
  const attributes = tlv(
    0xa0,
    ...(alternativeNames === undefined ? [] : [extension(alternativeNames)]),
  );
  return tlv(0x30, tlv(0x02, Buffer.from([0])), tlv(0x30, ...subject), publicKey, attributes);
}
function signedRequest(info: Buffer): Buffer {
  return tlv(
    0x30,
    info,
    ECDSA_SHA256,
    tlv(0x03, Buffer.from([0]), sign('sha256', info, keys.privateKey)),
  );
}
function pem(der: Buffer, type = 'CERTIFICATE REQUEST'): string {
  return `-----BEGIN ${type}-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${type}-----\n`;
}
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
const NOW = Date.UTC(2026, 0, 1);
const authority = await makeAuthority(NOW);

/** Returns the request that our reader reads, or the error's message. */
function read(der: Buffer): CertificateRequest | string {
  try {
    return parseCertificateRequest(base64(pem(der)));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Signs the request. Returns the differences between the readers of its certificate and our reader
 * of the request.
 */
function differences(request: CertificateRequest): readonly string[] {
  const certificate = makeCertificate(authority, {
    request,
    usages: ['client auth'],
    serialNumber: new Uint8Array(16).fill(7),
    notBeforeMs: NOW,
    notAfterMs: NOW + 1000,
  });
  const found: string[] = [];
  const compare = (what: string, theirs: unknown, ours: unknown): void => {
    if (JSON.stringify(theirs) !== JSON.stringify(ours))
      found.push(`${what}: ${JSON.stringify(theirs)}, not ${JSON.stringify(ours)}`);
  };
  const node = new X509Certificate(certificate);
  const subject = node.toLegacyObject().subject as
    | { CN?: string | string[]; O?: string | string[] }
    | undefined;
  compare('user of OpenSSL', [subject?.CN ?? []].flat().at(-1) ?? '', request.commonName);
  compare('groups of OpenSSL', [subject?.O ?? []].flat(), request.organizations);
  const peculiar = new PeculiarCertificate(certificate);
  compare(
    'user of @peculiar/x509',
    peculiar.subjectName.getField('CN').at(-1) ?? '',
    request.commonName,
  );
  compare('groups of @peculiar/x509', peculiar.subjectName.getField('O'), request.organizations);
  const names = peculiar.getExtension(SubjectAlternativeNameExtension)?.names.items ?? [];
  const ofType = (type: string): string[] =>
    names.filter((name) => name.type === type).map(({ value }) => value);
  compare('DNS names', ofType('dns'), request.dnsNames);
  compare('email addresses', ofType('email'), request.emailAddresses);
  compare('URIs', ofType('url'), request.uris);
  compare('IP addresses', ofType('ip').length, request.ipAddresses.length);
  return found;
}

const MASTERS = 'system:masters';

describe('the subject', () => {
  const set = (...pairs: readonly Buffer[]): Buffer => tlv(0x31, ...pairs);

  test.each<[what: string, tag: number, value: Uint8Array, problem?: string]>([
    ['UTF8String', 0x0c, Buffer.from(MASTERS)],
    ['PrintableString', 0x13, Buffer.from(MASTERS)],
    ['IA5String', 0x16, Buffer.from(MASTERS)],
    ['BMPString', 0x1e, utf16(MASTERS, true), 'unsupported string type: BMPString'],
    ['BMPString, little endian', 0x1e, utf16(MASTERS, false), 'unsupported string type: BMPString'],
    ['TeletexString', 0x14, Buffer.from(MASTERS), 'unsupported string type: TeletexString'],
    ['UniversalString', 0x1c, utf32(MASTERS), 'unsupported string type: UniversalString'],
    ['NumericString', 0x12, Buffer.from('1'), 'unsupported string type: NumericString'],
    ['VisibleString', 0x1a, Buffer.from(MASTERS), 'unsupported string type: type with tag 26'],
    ['GeneralString', 0x1b, Buffer.from(MASTERS), 'unsupported string type: type with tag 27'],
    [
      'constructed UTF8String',
      0x2c,
      tlv(0x0c, Buffer.from(MASTERS)),
      'unsupported string type: type with tag 44',
    ],
    [
      'SEQUENCE',
      0x30,
      tlv(0x0c, Buffer.from(MASTERS)),
      'unsupported string type: type with tag 48',
    ],
    ['UTF-8 that is none', 0x0c, Buffer.from([0x73, 0xff]), 'invalid UTF-8 string'],
    ['UTF-8, overlong', 0x0c, Buffer.from([0xc1, 0xb3]), 'invalid UTF-8 string'],
    ['UTF-8 with NUL', 0x0c, Buffer.from(`${MASTERS}\0x`), 'invalid UTF-8 string'],
    ['IA5String with a byte above 127', 0x16, Buffer.from([0x73, 0xe9]), 'invalid IA5String'],
    ['PrintableString with @', 0x13, Buffer.from('a@b'), 'invalid PrintableString'],
  ])(
    'may have an organization in a type that all readers agree on: %s',
    (_, tag, value, problem) => {
      for (const type of [O, CN, OU, EMAIL]) {
        const result = read(
          signedRequest(requestInfo([set(pair(type, tag, value)), set(utf8(CN, 'joe'))])),
        );
        if (problem !== undefined) {
          expect(result).toContain(
            `x509: invalid RDNSequence: invalid attribute value: ${problem}`,
          );
          continue;
        }
        expect(differences(result as CertificateRequest)).toEqual([]);
        if (type === O) expect((result as CertificateRequest).organizations).toEqual([MASTERS]);
      }
    },
  );

  test('shows each group, however the name is built', () => {
    const subjects: readonly (readonly Buffer[])[] = [
      [set(utf8(CN, 'joe'), utf8(O, MASTERS))],
      [set(utf8(O, 'a'), utf8(O, MASTERS)), set(utf8(CN, 'joe'))],
      [set(utf8(CN, 'first')), set(utf8(O, 'a')), set(utf8(O, MASTERS)), set(utf8(CN, 'joe'))],
      [set(utf8(O, '')), set(utf8(O, MASTERS)), set(utf8(CN, 'joe')), set(utf8(OU, 'x'))],
    ];
    for (const subject of subjects) {
      const result = read(signedRequest(requestInfo(subject))) as CertificateRequest;
      expect([result.commonName, result.organizations.includes(MASTERS)]).toEqual(['joe', true]);
      expect(differences(result)).toEqual([]);
    }
  });

  test('has one encoding', () => {
    const good = requestInfo([set(utf8(O, 'a')), set(utf8(CN, 'joe'))]);
    // The length of the organization in two bytes, in three, and in the indefinite form.
    for (const [bytes, problem] of [
      ['0c810161', 'asn1: structure error: non-minimal length'],
      ['0c82000161', 'asn1: structure error: superfluous leading zeros in length'],
      ['0c80610000', 'asn1: syntax error: indefinite length found (not DER)'],
    ] as const) {
      const organization = tlv(0x31, tlv(0x30, oid(O), Buffer.from(bytes, 'hex')));
      expect(read(signedRequest(requestInfo([organization, set(utf8(CN, 'joe'))])))).toBe(problem);
    }
    expect(
      read(signedRequest(tlv(0x30, tlv(0x02, Buffer.from([0])), tlv(0x30, set()), publicKey))),
    ).toContain('asn1');
    expect(read(Buffer.concat([signedRequest(good), Buffer.from([5, 0])]))).toBe(
      'asn1: syntax error: trailing data',
    );
    expect(read(signedRequest(tlv(0x30, good, Buffer.alloc(300 * 1024))))).toBe(
      'must have at most 262144 bytes',
    );
  });

  test(
    'and the alternative names stay the same in the certificate after random changes of a request',
    { timeout: 60_000 },
    () => {
      const random = new SeededRandom(17);
      const below = (limit: number): number => Math.floor(random.float() * limit);
      const host = (tag: number, text: string): Buffer => tlv(tag, Buffer.from(text));
      const base = requestInfo(
        [
          set(utf8(O, MASTERS)),
          set(pair(O, 0x13, Buffer.from('crew')), utf8(OU, 'x')),
          set(pair(CN, 0x16, Buffer.from('joe'))),
        ],
        [
          host(0x82, 'a.example'),
          tlv(0x87, Buffer.from([10, 0, 0, 1])),
          host(0x81, 'a@b'),
          host(0x86, 'spiffe://x'),
          host(0x88, 'x'),
        ],
      );
      const subjectStart = base.indexOf(Buffer.from('550403', 'hex')) - 60;
      let accepted = 0;
      const wrong: string[] = [];
      for (let round = 0; round < 2500; round++) {
        const info = Buffer.from(base);
        for (let changes = 1 + below(3); changes > 0; changes--) {
          const keyStart = info.indexOf(publicKey);
          const inSubject = random.float() < 0.7;
          const at = inSubject
            ? subjectStart + below(keyStart - subjectStart)
            : keyStart + publicKey.length + below(100);
          if (at >= info.length) continue;
          // Tags of strings are tried often: most other bytes break the structure.
          info[at] =
            random.float() < 0.5
              ? below(256)
              : [0x0c, 0x13, 0x14, 0x16, 0x1c, 0x1e, 0x82, 0x81, 0x86][below(9)]!;
        }
        const result = read(signedRequest(info));
        if (typeof result === 'string') continue;
        accepted++;
        const found = differences(result);
        if (found.length > 0) wrong.push(`${info.toString('hex')}: ${found.join('; ')}`);
      }
      expect(wrong).toEqual([]);
      // With fewer accepted requests the test would prove nothing.
      expect(accepted).toBeGreaterThan(200);
    },
  );
});

describe('the PEM text', () => {
  const der = signedRequest(requestInfo([tlv(0x31, utf8(CN, 'first'))]));
  const other = signedRequest(requestInfo([tlv(0x31, utf8(CN, 'second'))]));
  const broken = pem(der).replace('REQUEST-----\n', 'REQUEST-----\n*');
  test.each<[what: string, text: string, commonName: string]>([
    ['a block', pem(der), 'first'],
    [
      'text before it, as openssl req -text writes it',
      `Certificate Request:\n    Data: -----BEGIN x\n${pem(der)}`,
      'first',
    ],
    ['text after it', `${pem(der)}\nmore`, 'first'],
    [
      'headers',
      pem(der).replace('REQUEST-----\n', 'REQUEST-----\nProc-Type: 4,ENCRYPTED\n\n'),
      'first',
    ],
    ['carriage returns', pem(der).replaceAll('\n', '\r\n'), 'first'],
    ['several blocks: the first', `${pem(der)}${pem(other)}`, 'first'],
    ['a block that is not base64 before it', `${broken}${pem(other)}`, 'second'],
    ['a line of BEGIN before it', `-----BEGIN CERTIFICATE REQUEST-----\n${pem(other)}`, 'second'],
    [
      'a block whose END is of another type before it',
      `${pem(der).replace('END CERTIFICATE', 'END')}${pem(other)}`,
      'second',
    ],
  ])('%s', (_, text, commonName) => {
    expect(parseCertificateRequest(base64(text)).commonName).toBe(commonName);
  });

  test.each([
    ['another type', pem(der, 'CERTIFICATE')],
    ['another type first', `${pem(der, 'CERTIFICATE')}${pem(other)}`],
    ['no line of END', pem(der).replace(/-----END.*/, '')],
    ['text on the line of END', pem(der).replace(/-----\n$/, '----- x\n')],
    ['BEGIN within a line', ` ${pem(der)}`],
  ])('is rejected: %s', (_, text) => {
    expect(() => parseCertificateRequest(base64(text))).toThrow(
      'PEM block type must be CERTIFICATE REQUEST',
    );
  });

  test('takes time that is linear in its length', () => {
    for (const line of [
      '-----BEGIN A-----\n',
      '\n-----END A-----\n',
      '-----BEGIN A-----\na:b\n-----END B-----\n',
    ]) {
      const text = line.repeat(Math.ceil(2_000_000 / line.length));
      const begun = process.cpuUsage().user;
      expect([...pemBlocks(text)]).toEqual([]);
      // A quadratic reader takes minutes.
      expect(process.cpuUsage().user - begun).toBeLessThan(2_000_000);
    }
  });
});

describe('a cluster', () => {
  let cluster: TestCluster;
  let storage: Storage;
  beforeEach(async () => {
    cluster = await startTestCluster({ startMs: NOW, wrapStorage: (memory) => (storage = memory) });
  });
  afterEach(() => cluster.stop());

  const requests = () => cluster.client.resource(certificateSigningRequests);
  const create = (name: string, text: string) =>
    requests().create({
      metadata: { name },
      spec: {
        request: base64(text),
        signerName: 'kubernetes.io/kube-apiserver-client',
        usages: ['client auth'],
      },
    });
  const approve = async (name: string) => {
    const request = await requests().get(name);
    const condition = {
      type: 'Approved' as const,
      status: 'True' as const,
      reason: 'Test',
      message: '',
      lastTransitionTime: null,
    };
    await requests().subresource(
      name,
      'approval',
      { ...request, status: { conditions: [condition] } },
      { method: 'PUT' },
    );
    await cluster.clock.settle();
  };
  const bmp = pem(
    signedRequest(
      requestInfo([tlv(0x31, pair(O, 0x1e, utf16(MASTERS, true))), tlv(0x31, utf8(CN, 'joe'))]),
    ),
  );

  test('rejects a subject in BMPString and names the field', async () => {
    const message =
      'x509: invalid RDNSequence: invalid attribute value: unsupported string type: BMPString';
    await expect(create('bmp', bmp)).rejects.toThrow(message);
  });

  test('signs a request with text before its block', async () => {
    await cluster.run((config) => new CertificateSigner({ ...config, authority }));
    await create(
      'text',
      `Certificate Request:\n    Version: 1 (0x0)\n${pem(signedRequest(requestInfo([tlv(0x31, utf8(CN, 'joe'))])))}`,
    );
    await approve('text');
    const { certificate } = (await requests().get('text')).status;
    expect(new X509Certificate(Buffer.from(certificate ?? '', 'base64')).subject).toBe('CN=joe');
  });

  test('fails a stored request once if the rules have changed and it cannot be read any more', async () => {
    const valid = pem(signedRequest(requestInfo([tlv(0x31, utf8(CN, 'joe'))])));
    await create('valid', valid);
    const request = await requests().get('valid');
    const old = {
      ...request,
      metadata: { ...request.metadata, name: 'old' },
      spec: { ...request.spec, request: base64(bmp) },
    };
    await storage.create('/registry/certificatesigningrequests/old', encodeForStorage(old));
    await cluster.run((config) => new CertificateSigner({ ...config, authority }));
    await approve('old');
    const { conditions, certificate } = (await requests().get('old')).status;
    expect(certificate).toBeUndefined();
    expect(conditions?.map(({ type, reason }) => [type, reason])).toEqual([
      ['Approved', 'Test'],
      ['Failed', 'SignerValidationFailure'],
    ]);
    expect(conditions?.[1]?.message).toContain('BMPString');
    expect(
      cluster.logger.records.filter(({ level }) => level === 'warn' || level === 'error'),
    ).toEqual([]);
  });
});
