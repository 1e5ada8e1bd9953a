// Kubernetes' own signers, and their rules for requests.

import type { CertificateRequest } from './request.ts';

export const KUBE_API_SERVER_CLIENT = 'kubernetes.io/kube-apiserver-client';
export const KUBE_API_SERVER_CLIENT_KUBELET = 'kubernetes.io/kube-apiserver-client-kubelet';
export const KUBELET_SERVING = 'kubernetes.io/kubelet-serving';
export const LEGACY_UNKNOWN = 'kubernetes.io/legacy-unknown';

const NODES = 'system:nodes';
const NODE_PREFIX = 'system:node:';
/** Keys for key agreement do not need the second usage. */
const CLIENT_USAGES = [
  ['client auth', 'digital signature', 'key encipherment'],
  ['client auth', 'digital signature'],
];
const SERVING_USAGES = [
  ['digital signature', 'key encipherment', 'server auth'],
  ['digital signature', 'server auth'],
];

/**
 * Returns the reason why a request for a kubelet's client certificate is invalid; undefined if it
 * is valid.
 */
export function kubeletClientProblem(
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  if (!isOneGroup(request)) return 'subject organization is not system:nodes';
  if (request.dnsNames.length > 0) return 'DNS subjectAltNames are not allowed';
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (request.ipAddresses.length > 0) return 'IP subjectAltNames are not allowed';
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed';
  if (!request.commonName.startsWith(NODE_PREFIX))
    return 'subject common name does not begin with system:node:';
  return isOneOf(usages, CLIENT_USAGES)
    ? undefined
    : 'usages did not match [client auth digital signature key encipherment] or [client auth digital signature]';
}

/**
 * Returns the reason why a request for a kubelet's serving certificate is invalid; undefined if it
 * is valid.
 */
export function kubeletServingProblem(
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  if (!isOneGroup(request)) return 'subject organization is not system:nodes';
  if (request.dnsNames.length === 0 && request.ipAddresses.length === 0)
    return 'DNS or IP subjectAltName is required';
  if (request.emailAddresses.length > 0) return 'Email subjectAltNames are not allowed';
  if (request.uris.length > 0) return 'URI subjectAltNames are not allowed';
  if (!request.commonName.startsWith(NODE_PREFIX))
    return 'subject common name does not begin with system:node:';
  return isOneOf(usages, SERVING_USAGES)
    ? undefined
    : 'usages did not match [digital signature key encipherment server auth] or [digital signature server auth]';
}

function isOneGroup({ organizations }: CertificateRequest): boolean {
  return organizations.length === 1 && organizations[0] === NODES;
}

function isOneOf(usages: readonly string[], allowed: readonly (readonly string[])[]): boolean {
  const sortedUsages = [...new Set(usages)].toSorted().join();
  return allowed.some((each) => each.join() === sortedUsages);
}
