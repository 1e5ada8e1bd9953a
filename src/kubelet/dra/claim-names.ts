// The ResourceClaims that a pod and its containers use.

import { ownValue } from '#machinery/collections/string-map.ts';
import type { Container, Pod } from '../types.ts';

export interface PodClaim {
  /** The name in the pod's spec; undefined for the claim of extended resources. */
  readonly podClaimName: string | undefined;
  readonly claimName: string;
  /** The claim was made for the pod, and must be owned by it. */
  readonly isOwned: boolean;
}

/**
 * Returns the pod's claims. Entries for which no claim is needed are left out. Throws if a claim has
 * not been created yet.
 */
export function podClaims(pod: Pod): readonly PodClaim[] {
  const claims = (pod.spec.resourceClaims ?? []).flatMap(({ name }) => {
    const claim = podClaim(pod, name);
    return claim === undefined ? [] : [claim];
  });
  const extended = pod.status.extendedResourceClaimStatus?.resourceClaimName;
  if (extended === undefined) return claims;
  return [...claims, { podClaimName: undefined, claimName: extended, isOwned: false }];
}

/** Returns the claim behind an entry of the pod's spec; undefined if none is needed. */
export function podClaim(pod: Pod, podClaimName: string): PodClaim | undefined {
  const { name, namespace } = pod.metadata;
  const entry = pod.spec.resourceClaims?.find((candidate) => candidate.name === podClaimName);
  if (entry?.resourceClaimName !== undefined)
    return { podClaimName, claimName: entry.resourceClaimName, isOwned: false };
  if (entry?.resourceClaimTemplateName === undefined) {
    throw new Error(
      `pod "${namespace}/${name}", spec.resourceClaim "${podClaimName}": ` +
        'none of the supported fields are set',
    );
  }
  const status = pod.status.resourceClaimStatuses?.find(
    (candidate) => candidate.name === podClaimName,
  );
  if (status === undefined)
    throw new Error(`pod "${namespace}/${name}": ResourceClaim not created yet`);
  return status.resourceClaimName === undefined
    ? undefined
    : { podClaimName, claimName: status.resourceClaimName, isOwned: true };
}

/**
 * Returns the requests of the container by claim. An empty name stands for all requests of the
 * claim.
 */
export function containerRequests(
  pod: Pod,
  container: Container,
): ReadonlyMap<string, readonly string[]> {
  const requests = new Map<string, string[]>();
  const add = (claimName: string, request: string): void => {
    requests.set(claimName, [...(requests.get(claimName) ?? []), request]);
  };
  for (const { name, request = '' } of container.resources?.claims ?? []) {
    const claim = podClaim(pod, name);
    if (claim !== undefined) add(claim.claimName, request);
  }
  const extended = pod.status.extendedResourceClaimStatus;
  for (const mapping of extended?.requestMappings ?? []) {
    const amount = ownValue(container.resources?.requests ?? {}, mapping.resourceName) ?? '0';
    if (mapping.containerName === container.name && amount !== '0')
      add(extended!.resourceClaimName, mapping.requestName);
  }
  return requests;
}
