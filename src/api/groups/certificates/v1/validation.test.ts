import 'reflect-metadata';
import { Pkcs10CertificateRequestGenerator, X509CertificateGenerator } from '@peculiar/x509';
import { describe, expect, test } from 'vitest';

import type { FieldErrorList } from '#machinery/validation/field.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as certificates from './types.ts';
import {
  type AllowedUpdates,
  validateCertificateSigningRequest,
  validateCertificateSigningRequestUpdate,
} from './validation.ts';

const EC = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
const keys = await crypto.subtle.generateKey(EC, true, ['sign', 'verify']);
const pem = (
  await Pkcs10CertificateRequestGenerator.create({ name: 'O=crew', keys, signingAlgorithm: EC })
).toString('pem');
const signed = await X509CertificateGenerator.createSelfSigned({
  name: 'CN=x',
  keys,
  signingAlgorithm: EC,
  serialNumber: '01',
});
const certificate = base64(`issued for x\n${signed.toString('pem')}\n`);

const of = variation<certificates.CertificateSigningRequest>(
  'certificates/v1.CertificateSigningRequest',
  {
    metadata: { name: 'a', resourceVersion: '1' },
    spec: { request: base64(pem), usages: ['key encipherment'], signerName: 'example.com/mine' },
  },
);
const text = (errors: FieldErrorList): string[] => errors.map(String);
const signer = (signerName: string): object => ({ spec: { signerName } });
const conditions = (...list: object[]): object => ({ status: { conditions: list } });
const issued = (content: string): object => ({ status: { certificate: base64(content) } });

const approved = { type: 'Approved', status: 'True' };
const denied = { type: 'Denied', status: 'True' };
const failed = { type: 'Failed', status: 'True' };
const domain = [63, 63, 63, 61].map((length) => 'a'.repeat(length)).join('.');
const longest = `${domain}/${'a'.repeat(63)}.${'a'.repeat(253)}`;
const long = 'a'.repeat(66);
const USAGES =
  'supported values: "any", "cert sign", "client auth", "code signing", ' +
  '"content commitment", "crl sign", "data encipherment", "decipher only", ' +
  '"digital signature", "email protection", "encipher only", "ipsec end system", ' +
  '"ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", ' +
  '"netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"';
const PATH_FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
const NO_BLOCK =
  'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block';
const block = (type: string, body: string): string =>
  `-----BEGIN ${type}-----\n${body}-----END ${type}-----\n`;
const body = signed.toString('base64').replace(/\s/g, '').replace(/.{64}/g, '$&\n');

describe('a request', () => {
  test.each(
    rows<[object]>([
      [{}],
      [signer('example.com/some-signer')],
      [signer(longest)],
      [signer(`abc.io/${'a'.repeat(253)}.${'a'.repeat(253)}`)],
      [{ spec: { expirationSeconds: 600 } }],
      [{ spec: { usages: ['any', 'signing', 'timestamping'] } }],
      [conditions(approved)],
      [conditions(denied)],
      [conditions(failed)],
      [conditions(approved, failed, { type: 'Mine', status: 'Unknown' })],
      [{ status: { conditions: [approved], certificate } }],
      [
        issued(
          `${block('CERTIFICATE', `${body}\n`)}# and the one before\n${block('CERTIFICATE', `${body}\n`)}`,
        ),
      ],
      [issued(`-----BEGIN \n${block('CERTIFICATE', ` ${body} \n`)}`)],
    ]),
  )('may be %s', (_, change) => {
    expect(text(validateCertificateSigningRequest(of(change)))).toEqual([]);
  });

  const path = (value: string, bad = value): string =>
    `spec.signerName: Invalid value: "${value}": validating label "${bad}": ${NAME_MESSAGES.subdomain}`;
  const short = 'may not specify a duration less than 600 seconds (10 minutes)';
  const refusals: readonly (readonly [change: object, ...errors: string[]])[] = [
    [
      { spec: { request: base64('no request') } },
      `spec.request: Invalid value: "${base64('no request')}": PEM block type must be CERTIFICATE REQUEST`,
    ],
    [
      { spec: { request: '' } },
      'spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST',
    ],
    [
      { spec: { request: base64(block('CERTIFICATE', '')) } },
      `spec.request: Invalid value: "${base64(block('CERTIFICATE', ''))}": PEM block type must be CERTIFICATE REQUEST`,
    ],
    [{ spec: { usages: null } }, 'spec.usages: Required value'],
    [{ spec: { usages: [] } }, 'spec.usages: Required value'],
    [
      { spec: { usages: ['fly', 'fly'] } },
      `spec.usages[0]: Unsupported value: "fly": ${USAGES}`,
      `spec.usages[1]: Unsupported value: "fly": ${USAGES}`,
      'spec.usages[1]: Duplicate value: "fly"',
    ],
    [{ spec: { usages: ['any', 'signing', 'any'] } }, 'spec.usages[2]: Duplicate value: "any"'],
    [signer(''), 'spec.signerName: Required value'],
    [signer('plain'), `spec.signerName: Invalid value: "plain": ${PATH_FORM}`],
    [
      signer('example.com/one/more'),
      `spec.signerName: Invalid value: "example.com/one/more": ${PATH_FORM}`,
    ],
    [
      signer('example/one'),
      'spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots',
    ],
    [signer('example.com/'), path('')],
    [signer('example.com/one-'), path('one-')],
    [signer('example.com/-'), path('-')],
    [signer('example.com/a..B'), path('a..B', '')],
    [
      signer('Example.Com/a'),
      `spec.signerName: Invalid value: "Example.Com": validating label "Example": ${NAME_MESSAGES.label}`,
    ],
    [signer(`${longest}.more`), 'spec.signerName: Too long: may not be more than 571 bytes'],
    [signer(`${domain}.more/a`), 'spec.signerName: Too long: may not be more than 253 bytes'],
    [
      signer(`${long}.example.io/a`),
      `spec.signerName: Invalid value: "${long}.example.io": validating label "${long}": ` +
        'must be no more than 63 characters',
    ],
    [
      signer('kubernetes.io/legacy-unknown'),
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy ' +
        'signerName is not allowed via this API version',
    ],
    ...[-1, 0, 1, 60, 599].map((seconds): [object, string] => [
      { spec: { expirationSeconds: seconds } },
      `spec.expirationSeconds: Invalid value: ${seconds}: ${short}`,
    ]),
    [conditions({ status: 'True' }), 'status.conditions[0].type: Required value'],
    [conditions({ type: 'Approved' }), 'status.conditions[0].status: Required value'],
    [
      conditions({ ...approved, status: 'False' }),
      'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
    ],
    [
      conditions({ type: 'Mine', status: 'Maybe' }),
      'status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
    ],
    [
      conditions(approved, denied),
      'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
    ],
    [
      conditions(denied, approved),
      'status.conditions: Invalid value: "Approved": Approved and Denied conditions are mutually exclusive',
    ],
    [
      conditions(approved, failed, approved),
      'status.conditions[2].type: Duplicate value: "Approved"',
    ],
    [issued('nothing'), NO_BLOCK],
    [
      issued(block('CERTIFICATE1', `${body}\n`)),
      'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM ' +
        'blocks are allowed, found "CERTIFICATE1"',
    ],
    [
      issued(block('CERTIFICATE', `Made-By: me\n\n${body}\n`)),
      'status.certificate: Invalid value: "<certificate data>": no PEM block headers are permitted',
    ],
    [issued(block('CERTIFICATE', '*****\n')), NO_BLOCK],
    [issued(block('CERTIFICATE', `${body}\n`).slice(0, -3)), NO_BLOCK],
    [
      issued(block('CERTIFICATE', '')),
      'status.certificate: Invalid value: "<certificate data>": found CERTIFICATE PEM block containing 0 certificates',
    ],
    [
      issued(block('CERTIFICATE', `${base64('not der')}\n`)),
      'status.certificate: Invalid value: "<certificate data>": x509: malformed certificate',
    ],
  ];

  test.each(
    rows<[change: object, errors: readonly string[]]>(
      refusals.map(([change, ...errors]) => [change, errors]),
    ),
  )('may not be %s', (_, change, errors) => {
    expect(text(validateCertificateSigningRequest(of(change)))).toEqual(errors);
  });
});

const ANYONE: AllowedUpdates = { decisions: false, certificate: false };
const SIGNER: AllowedUpdates = { decisions: false, certificate: true };
const APPROVER: AllowedUpdates = { decisions: true, certificate: false };
const none = issued('no block');

describe.each([
  ['anyone', ANYONE],
  ['a signer', SIGNER],
  ['an approver', APPROVER],
])('%s', (_who, allowed) => {
  const update = (change: object, before: object): string[] =>
    text(validateCertificateSigningRequestUpdate(of(change), of(before), allowed));

  test('may change the metadata of an invalid request', () => {
    const twice = { spec: { usages: ['fly', 'fly'] } };
    for (const spec of [{}, none, twice, signer('kubernetes.io/legacy-unknown')])
      expect(update(spec, spec)).toEqual([]);
    for (const list of [
      [{ status: 'True' }],
      [approved, denied],
      [approved, approved],
      [denied, denied, approved],
    ]) {
      expect(update(conditions(...list), conditions(...list))).toEqual([]);
    }
    const repeated = conditions({ type: 'A', status: 'True' }, { type: 'A', status: 'True' });
    expect(update(conditions({ type: '', status: 'True' }), repeated)).toEqual([
      'status.conditions[0].type: Required value',
    ]);
  });

  test('may report a failure, and cannot remove conditions', () => {
    expect(update(conditions(failed), {})).toEqual([]);
    for (const condition of [approved, denied, failed]) {
      const expected = [
        `status.conditions: Forbidden: updates may not remove a condition of type "${condition.type}"`,
      ];
      expect(update({}, conditions(condition))).toEqual(expected);
    }
  });

  test('may be decided by an approver', () => {
    for (const condition of [approved, denied]) {
      const refused = (verb: string): string[] => [
        `status.conditions: Forbidden: updates may not ${verb} a condition of type "${condition.type}"`,
      ];
      expect(update(conditions(condition), {})).toEqual(allowed.decisions ? [] : refused('add'));
      expect(update(conditions({ ...condition, reason: 'New' }), conditions(condition))).toEqual(
        allowed.decisions ? [] : refused('modify'),
      );
    }
  });

  test('gets its certificate from a signer, once', () => {
    const set = 'status.certificate: Forbidden: updates may not set certificate content';
    const change =
      'status.certificate: Forbidden: updates may not modify existing certificate content';
    expect(update({ status: { certificate } }, {})).toEqual(allowed.certificate ? [] : [set]);
    expect(update(none, {})).toEqual(allowed.certificate ? [NO_BLOCK] : [NO_BLOCK, set]);
    expect(update({ status: { certificate } }, none)).toEqual([allowed.certificate ? change : set]);
    expect(update(none, issued(block('CERTIFICATE1', body)))).toEqual([
      allowed.certificate ? change : set,
    ]);
  });
});
