// Rules of certificate signing requests. Messages and paths are Kubernetes' own (pkg/apis/certificates/validation).

import { X509Certificate } from 'node:crypto';
import { deepEqual } from '../../../machinery/deep.ts';
import * as field from '../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../machinery/field.ts';
import { quote } from '../../../machinery/go-format.ts';
import * as validation from '../../../machinery/validation.ts';
import type { Immutable } from '../../meta/v1/index.ts';
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
const DECISIONS = ['Approved', 'Denied', 'Failed'] as const;
const CONDITIONS_PATH = field.path('status', 'conditions');

export function validateCertificateSigningRequest({ spec, status }: CertificateSigningRequest): FieldErrorList {
  const at = field.path('spec');
  const errors: FieldErrorList = [];
  try {
    parseCertificateRequest(spec.request);
  } catch (error) {
    errors.push(field.invalid(at.child('request'), spec.request, error instanceof Error ? error.message : String(error)));
  }
  errors.push(...usages(spec.usages ?? [], at.child('usages')));
  if (spec.signerName === LEGACY_UNKNOWN) {
    const why = 'the legacy signerName is not allowed via this API version';
    errors.push(field.invalid(at.child('signerName'), spec.signerName, why));
  } else {
    errors.push(...signerName(spec.signerName, at.child('signerName')));
  }
  if (spec.expirationSeconds !== undefined && spec.expirationSeconds < MIN_EXPIRATION_SECONDS) {
    const why = 'may not specify a duration less than 600 seconds (10 minutes)';
    errors.push(field.invalid(at.child('expirationSeconds'), spec.expirationSeconds, why));
  }
  return [...errors, ...conditions(status.conditions ?? []), ...certificate(status.certificate)];
}

export interface AllowedUpdates {
  /** Approved and Denied: only through the subresource approval. */
  readonly decisions: boolean;
  /** Only through the subresource status. */
  readonly certificate: boolean;
}

export function validateCertificateSigningRequestUpdate(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  allowed: AllowedUpdates,
): FieldErrorList {
  // What is there stays allowed, whatever the rules were when it came.
  const errors = deepEqual(request.status, old.status)
    ? []
    : [...conditions(request.status.conditions ?? []), ...certificate(request.status.certificate)];
  for (const type of DECISIONS) {
    const now = ofType(request, type);
    const before = ofType(old, type);
    if (now.length < before.length) {
      errors.push(field.forbidden(CONDITIONS_PATH, `updates may not remove a condition of type ${quote(type)}`));
    } else if (type !== 'Failed' && !allowed.decisions && !deepEqual(now, before)) {
      errors.push(field.forbidden(CONDITIONS_PATH, `updates may not add a condition of type ${quote(type)}`));
    }
  }
  if (request.status.certificate !== old.status.certificate) {
    const at = field.path('status', 'certificate');
    if (!allowed.certificate) errors.push(field.forbidden(at, 'updates may not set certificate content'));
    else if (old.status.certificate !== undefined) {
      errors.push(field.forbidden(at, 'updates may not modify existing certificate content'));
    }
  }
  return errors;
}

function ofType({ status }: CertificateSigningRequest, type: string): readonly Condition[] {
  return (status.conditions ?? []).filter((condition) => condition.type === type);
}

function usages(list: readonly string[], at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  if (list.length === 0) errors.push(field.required(at, 'usages must be provided'));
  list.forEach((usage, index) => {
    if (!USAGES.includes(usage)) errors.push(field.notSupported(at.index(index), usage, USAGES));
  });
  list.forEach((usage, index) => {
    if (list.indexOf(usage) < index) errors.push(field.duplicate(at.index(index), usage));
  });
  return errors;
}

/** 'example.com/signer': a domain and a path. */
function signerName(name: string, at: FieldPath): FieldErrorList {
  if (name === '') return [field.required(at)];
  const [domain = '', path, ...more] = name.split('/');
  if (path === undefined || more.length > 0) {
    return [field.invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")];
  }
  const errors: FieldErrorList = [];
  if (domain.length > 253) errors.push(field.tooLong(at, domain, 253));
  const labels = domain.split('.');
  for (const label of labels) {
    if (label.length > 63) errors.push(field.tooLong(at, label, 63));
    for (const problem of validation.isDNS1123Label(label)) {
      errors.push(field.invalid(at, domain, `validating label ${quote(label)}: ${problem}`));
    }
  }
  if (labels.length < 2) {
    errors.push(field.invalid(at, domain, 'should be a domain with at least two segments separated by dots'));
  }
  for (const label of path.split('.')) {
    for (const problem of validation.isDNS1123Subdomain(label)) {
      errors.push(field.invalid(at, path, `validating label ${quote(label)}: ${problem}`));
    }
  }
  if (path.length > 317) errors.push(field.tooLong(at, path, 317));
  return errors;
}

function conditions(list: readonly Condition[]): FieldErrorList {
  const errors: FieldErrorList = [];
  const seen = new Set<string>();
  list.forEach(({ type, status }, index) => {
    const at = CONDITIONS_PATH.index(index);
    if (type === '') errors.push(field.required(at.child('type')));
    if ((type === 'Approved' && seen.has('Denied')) || (type === 'Denied' && seen.has('Approved'))) {
      errors.push(field.invalid(at.child('type'), type, 'Approved and Denied conditions are mutually exclusive'));
    }
    const statuses = (DECISIONS as readonly string[]).includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    if (status === '') errors.push(field.required(at.child('status')));
    else if (!statuses.includes(status)) errors.push(field.notSupported(at.child('status'), status, statuses));
    if (seen.has(type)) errors.push(field.duplicate(at.child('type'), type));
    seen.add(type);
  });
  return errors;
}

const BLOCK = /-----BEGIN ([^-\n]+)-----\r?\n([\s\S]*?)-----END \1-----/g;

function certificate(base64: string | undefined): FieldErrorList {
  if (base64 === undefined) return [];
  const why = certificateProblem(Buffer.from(base64, 'base64').toString('latin1'));
  return why === undefined ? [] : [field.invalid(field.path('status', 'certificate'), '<certificate data>', why)];
}

function certificateProblem(pem: string): string | undefined {
  let blocks = 0;
  for (const [whole, type = '', body = ''] of pem.matchAll(BLOCK)) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${quote(type)}`;
    if (body.includes(':')) return 'no PEM block headers are permitted';
    blocks++;
    if (!isCertificate(whole)) return 'x509: malformed certificate';
  }
  return blocks === 0 ? 'must contain one or more CERTIFICATE PEM blocks' : undefined;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
