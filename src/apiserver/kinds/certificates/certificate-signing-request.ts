// The resource certificatesigningrequests. The spec is immutable. Approvers and signers write the
// status, each through a separate subresource.

import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import type * as certificates from '#api/groups/certificates/v1/index.ts';
import {
  validateCertificateSigningRequest,
  validateCertificateSigningRequestUpdate,
} from '#api/groups/certificates/v1/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { humanDuration } from '#machinery/text/duration.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { formatTime } from '#machinery/text/time.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import type { CertificateRequestMetrics } from './request-metrics.ts';

type CertificateSigningRequest = Immutable<certificates.CertificateSigningRequest>;
type Condition = Immutable<certificates.CertificateSigningRequestCondition>;

const certificateSigningRequestStrategy: ResourceStrategy<CertificateSigningRequest> = {
  resetFields: [['spec'], ['status']],
  validateName: pathSegmentName,
  prepareForCreate(request, { request: { user } }) {
    const { request: pem, signerName, expirationSeconds, usages } = request.spec;
    const { name, uid = '', groups, extra = {} } = user;
    const spec = {
      request: pem,
      signerName,
      ...(expirationSeconds !== undefined && { expirationSeconds }),
      ...(usages !== undefined && { usages }),
      ...(name !== '' && { username: name }),
      ...(uid !== '' && { uid }),
      ...(groups.length > 0 && { groups }),
      ...(Object.keys(extra).length > 0 && { extra }),
    };
    return { ...request, spec, status: {} };
  },
  validate: (request) => validateCertificateSigningRequest(request),
  prepareForUpdate: (request, old) => ({ ...request, spec: old.spec, status: old.status }),
  validateUpdate: (request, old) =>
    validateCertificateSigningRequestUpdate(request, old, { decisions: false, certificate: false }),
};

export interface CertificateServices extends StoreServices {
  readonly certificateRequestMetrics: CertificateRequestMetrics;
}

/**
 * The rules for signers: they write the certificate, and conditions other than approval and denial.
 */
const statusStrategy = (
  metrics: CertificateRequestMetrics,
): SubresourceStrategy<CertificateSigningRequest> => ({
  // No manager owns conditions here, since they include those of approvers.
  resetFields: [['spec'], ['status', 'conditions']],
  prepareForUpdate(request, old, { now }) {
    const conditions = timed(withDecisionsOf(request, old), old, now);
    return { ...request, spec: old.spec, status: withConditions(request.status, conditions) };
  },
  // Nothing is reserved: the write is counted once it is done.
  reserveForUpdate: async (request, old) => ({
    object: request,
    commit() {
      const { certificate = '' } = request.status;
      if (certificate !== '' && (old.status.certificate ?? '') === '')
        metrics.issued(request, certificate);
    },
    rollback() {},
  }),
  validateUpdate: (request, old) =>
    validateCertificateSigningRequestUpdate(request, old, { decisions: false, certificate: true }),
});

/** The rules for approvers: they write only conditions. */
const approvalStrategy: SubresourceStrategy<CertificateSigningRequest> = {
  resetFields: [['spec'], ['status', 'certificate']],
  prepareForUpdate(request, old, { now }) {
    const conditions = timed(request.status.conditions ?? [], old, now);
    return { ...request, spec: old.spec, status: withConditions(old.status, conditions) };
  },
  validateUpdate: (request, old) =>
    validateCertificateSigningRequestUpdate(request, old, { decisions: true, certificate: false }),
};

function withConditions(
  { conditions: _replaced, ...status }: CertificateSigningRequest['status'],
  conditions: readonly Condition[],
): CertificateSigningRequest['status'] {
  return { ...(conditions.length > 0 && { conditions }), ...status };
}

/**
 * Returns the conditions with the stored decisions restored, at the places where the client has
 * sent them. The client's other conditions stay.
 */
function withDecisionsOf(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
): readonly Condition[] {
  return (request.status.conditions ?? []).map((condition) => {
    if (condition.type !== 'Approved' && condition.type !== 'Denied') return condition;
    return old.status.conditions?.find(({ type }) => type === condition.type) ?? condition;
  });
}

/**
 * Returns the conditions with missing times filled in: now, or the stored time of an unchanged
 * condition.
 */
function timed(
  conditions: readonly Condition[],
  old: CertificateSigningRequest,
  now: number,
): readonly Condition[] {
  const time = formatTime(now);
  return conditions.map((condition) => {
    const before = old.status.conditions?.find(
      ({ type, status }) => type === condition.type && status === condition.status,
    );
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? time,
      lastTransitionTime: condition.lastTransitionTime ?? before?.lastTransitionTime ?? time,
    };
  });
}

const certificateSigningRequestTable: TableConvertor<CertificateSigningRequest> = {
  columns: [
    NAME,
    AGE,
    column('SignerName', 'The requested signer.'),
    column('Requestor', 'The user that created the request.'),
    column('RequestedDuration', 'The requested lifetime of the certificate.'),
    column('Condition', 'The state of the request.'),
  ],
  cells: (request, now) => {
    const { metadata, spec } = request;
    const { signerName, username = '', expirationSeconds } = spec;
    return [
      metadata.name,
      since(metadata.creationTimestamp, now),
      signerName,
      username,
      expirationSeconds === undefined ? '<none>' : humanDuration(expirationSeconds * 1000),
      conditionOf(request),
    ];
  },
};

function conditionOf({
  status: { conditions = [], certificate },
}: CertificateSigningRequest): string {
  const has = (wanted: string): boolean => conditions.some(({ type }) => type === wanted);
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  return `${decision}${has('Failed') ? ',Failed' : ''}${certificate === undefined ? '' : ',Issued'}`;
}

export const certificateSigningRequestKind = defineKind<
  CertificateSigningRequest,
  CertificateServices
>({
  type: certificateSigningRequests,
  strategy: certificateSigningRequestStrategy,
  selectableFields: { 'spec.signerName': ({ spec }) => spec.signerName },
  table: certificateSigningRequestTable,
  subresources: {
    status: {
      strategy: ({ certificateRequestMetrics }) => statusStrategy(certificateRequestMetrics),
    },
    approval: { strategy: approvalStrategy },
  },
});
