// Validation of certificate signing requests. Messages and paths are upstream's
// (pkg/apis/certificates/validation).

import { errorMessage } from '#machinery/error-message.ts';
import { X509Certificate } from 'node:crypto';
import { deepEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { quote } from '#machinery/text/go-format.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { pemBlocks } from './pem.ts';
import { parseCertificateRequest } from './request.ts';
import { LEGACY_UNKNOWN } from './signers.ts';
import type * as certificates from './types.ts';

type CertificateSigningRequest = Immutable<certificates.CertificateSigningRequest>;
type Condition = Immutable<certificates.CertificateSigningRequestCondition>;

const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];
const MIN_EXPIRATION_SECONDS = 600;
/** The longest domain, and the longest name: a domain, '/', a namespace, a dot and a name. */
const MAX_NAME = 253;
const MAX_SIGNER_NAME = 253 + '/'.length + 63 + '.'.length + 253;
const DECISIONS = ['Approved', 'Denied', 'Failed'] as const;
const CONDITIONS_PATH = field.path('status', 'conditions');

/**
 * Returns the problems of a request. With `old`, problems that the object had before are not
 * reported.
 */
export function validateCertificateSigningRequest(
  { spec, status }: CertificateSigningRequest,
  old?: CertificateSigningRequest,
): FieldErrorList {
  const at = field.path('spec');
  const errors: FieldErrorList = [];
  // A stored request that a later version rejects must still be updatable: the signer reports its
  // failure in the status.
  if (spec.request !== old?.spec.request) {
    try {
      parseCertificateRequest(spec.request);
    } catch (error) {
      const shown = spec.request === '' ? null : spec.request;
      errors.push(field.invalid(at.child('request'), shown, errorMessage(error)));
    }
  }
  errors.push(...usages(spec.usages ?? [], at.child('usages'), old?.spec.usages));
  if (spec.signerName === LEGACY_UNKNOWN && old?.spec.signerName !== LEGACY_UNKNOWN) {
    const why = 'the legacy signerName is not allowed via this API version';
    errors.push(field.invalid(at.child('signerName'), spec.signerName, why));
  } else {
    errors.push(...signerName(spec.signerName, at.child('signerName')));
  }
  if (spec.expirationSeconds !== undefined && spec.expirationSeconds < MIN_EXPIRATION_SECONDS) {
    const why = 'may not specify a duration less than 600 seconds (10 minutes)';
    errors.push(field.invalid(at.child('expirationSeconds'), spec.expirationSeconds, why));
  }
  errors.push(...conditions(status.conditions ?? [], old?.status.conditions));
  const isNew =
    status.certificate !== old?.status.certificate &&
    certificateProblem(old?.status.certificate) === undefined;
  const problem = isNew ? certificateProblem(status.certificate) : undefined;
  if (problem !== undefined)
    errors.push(field.invalid(field.path('status', 'certificate'), '<certificate data>', problem));
  return errors;
}

export interface AllowedUpdates {
  /** Approved and Denied may change: only through the approval subresource. */
  readonly decisions: boolean;
  /** The certificate may change: only through the status subresource. */
  readonly certificate: boolean;
}

export function validateCertificateSigningRequestUpdate(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  allowed: AllowedUpdates,
): FieldErrorList {
  const errors = validateCertificateSigningRequest(request, old);
  const counts = DECISIONS.map((type) => ({
    type,
    now: ofType(request, type),
    before: ofType(old, type),
  }));
  const refuse = (verb: string, type: string): void => {
    errors.push(
      field.forbidden(
        CONDITIONS_PATH,
        `updates may not ${verb} a condition of type ${quote(type)}`,
      ),
    );
  };
  for (const { type, now, before } of counts)
    if (now.length < before.length) refuse('remove', type);
  for (const { type, now, before } of counts) {
    if (type === 'Failed' || allowed.decisions || now.length < before.length) continue;
    if (now.length > before.length) refuse('add', type);
    else if (!deepEqual(now, before)) refuse('modify', type);
  }
  if (request.status.certificate !== old.status.certificate) {
    const at = field.path('status', 'certificate');
    if (!allowed.certificate)
      errors.push(field.forbidden(at, 'updates may not set certificate content'));
    else if (old.status.certificate !== undefined) {
      errors.push(field.forbidden(at, 'updates may not modify existing certificate content'));
    }
  }
  return errors;
}

function ofType({ status }: CertificateSigningRequest, type: string): readonly Condition[] {
  return (status.conditions ?? []).filter((condition) => condition.type === type);
}

function usages(
  list: readonly string[],
  at: FieldPath,
  old: readonly string[] = [],
): FieldErrorList {
  if (list.length === 0) return [field.required(at)];
  const isRepeated = (each: readonly string[]): boolean => new Set(each).size < each.length;
  const hasUnknown = old.some((usage) => !USAGES.includes(usage));
  return [
    ...list.flatMap((usage, index) =>
      hasUnknown || USAGES.includes(usage)
        ? []
        : [field.notSupported(at.index(index), usage, USAGES)],
    ),
    ...list.flatMap((usage, index) =>
      isRepeated(old) || list.indexOf(usage) === index
        ? []
        : [field.duplicate(at.index(index), usage)],
    ),
  ];
}

/** Validates 'example.com/signer': a domain and a path. */
function signerName(name: string, at: FieldPath): FieldErrorList {
  if (name === '') return [field.required(at)];
  const [domain = '', path, ...more] = name.split('/');
  if (path === undefined || more.length > 0) {
    return [
      field.invalid(
        at,
        name,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    ];
  }
  const errors: FieldErrorList = [];
  if (domain.length > MAX_NAME) errors.push(field.tooLong(at, domain, MAX_NAME));
  const labels = domain.split('.');
  errors.push(...firstBad(labels, validation.isDNS1123Label, domain, at));
  if (labels.length < 2) {
    errors.push(
      field.invalid(at, domain, 'should be a domain with at least two segments separated by dots'),
    );
  }
  errors.push(...firstBad(path.split('.'), validation.isDNS1123Subdomain, path, at));
  if (name.length > MAX_SIGNER_NAME) errors.push(field.tooLong(at, name, MAX_SIGNER_NAME));
  return errors;
}

/** Returns the problems of the first invalid label only. */
function firstBad(
  labels: readonly string[],
  problemsOf: (label: string) => readonly string[],
  whole: string,
  at: FieldPath,
): FieldErrorList {
  for (const label of labels) {
    const problems = problemsOf(label);
    if (problems.length > 0) {
      return problems.map((problem) =>
        field.invalid(at, whole, `validating label ${quote(label)}: ${problem}`),
      );
    }
  }
  return [];
}

function conditions(list: readonly Condition[], old: readonly Condition[] = []): FieldErrorList {
  const errors: FieldErrorList = [];
  const before = new Set<string>(old.map(({ type }) => type));
  const hadBoth = before.has('Approved') && before.has('Denied');
  const hadRepeated = before.size < old.length;
  const seen = new Set<string>();
  list.forEach(({ type, status }, index) => {
    const at = CONDITIONS_PATH.index(index);
    if (type === '' && !before.has('')) errors.push(field.required(at.child('type')));
    const statuses = (DECISIONS as readonly string[]).includes(type)
      ? ['True']
      : ['False', 'True', 'Unknown'];
    if (status === '') errors.push(field.required(at.child('status')));
    else if (!statuses.includes(status))
      errors.push(field.notSupported(at.child('status'), status, statuses));
    const other = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : undefined;
    if (other !== undefined && seen.has(other) && !hadBoth) {
      errors.push(
        field.invalid(
          CONDITIONS_PATH,
          type,
          'Approved and Denied conditions are mutually exclusive',
        ),
      );
    }
    if (seen.has(type) && !hadRepeated) errors.push(field.duplicate(at.child('type'), type));
    seen.add(type);
  });
  return errors;
}

function certificateProblem(base64: string | undefined): string | undefined {
  if (base64 === undefined || base64 === '') return undefined;
  let isEmpty = true;
  for (const { type, hasHeaders, bytes } of pemBlocks(
    Buffer.from(base64, 'base64').toString('latin1'),
  )) {
    if (type !== 'CERTIFICATE')
      return `only CERTIFICATE PEM blocks are allowed, found ${quote(type)}`;
    if (hasHeaders) return 'no PEM block headers are permitted';
    if (bytes.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    if (!isCertificate(bytes)) return 'x509: malformed certificate';
    isEmpty = false;
  }
  return isEmpty ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

function isCertificate(der: Buffer): boolean {
  try {
    return new X509Certificate(der).raw.length > 0;
  } catch {
    return false;
  }
}
