// What policies see of a pod.

import { formatIp, parseIp } from '#machinery/net/ip.ts';
import type { NamedPort, Pod, PolicyPod, Protocol } from '../model.ts';

/** What the kubelet of this node says of a pod, before the API has it. */
export interface Announcement {
  readonly addresses: readonly string[];
  /** Counts announcements: a later one is greater. */
  readonly sequence: number;
}

/** Later than any time of creation, in milliseconds. */
const ANNOUNCED = 2 ** 50;

/**
 * Returns what policies see of a pod; undefined if they never see it: pods of the node's network
 * are the node, and pods that have ended have no address any more.
 */
export function podFacts(
  pod: Pod,
  nodeName: string,
  announced: Announcement | undefined,
): PolicyPod | undefined {
  const { metadata, spec, status } = pod;
  if (spec.hostNetwork === true || status?.phase === 'Succeeded' || status?.phase === 'Failed')
    return undefined;
  const reported = (status?.podIPs ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]));
  // The kubelet may have failed to read the addresses of a sandbox; what it reports later counts
  // then.
  const hasAnnounced = announced !== undefined && announced.addresses.length > 0;
  const addresses = (hasAnnounced ? announced.addresses : reported).flatMap(
    (text) => canonical(text) ?? [],
  );
  const namespace = metadata.namespace ?? '';
  return {
    key: `${namespace}/${metadata.name}`,
    namespace,
    labels: metadata.labels ?? {},
    addresses: [...new Set(addresses)],
    ports: namedPorts(pod),
    local: announced !== undefined || spec.nodeName === nodeName,
    since:
      announced === undefined
        ? Date.parse(metadata.creationTimestamp ?? '') || 0
        : ANNOUNCED + announced.sequence,
  };
}

/** Containers, and init containers that keep running beside them. */
function namedPorts({ spec }: Pod): readonly NamedPort[] {
  const sidecars = (spec.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === 'Always',
  );
  return [...spec.containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol = 'TCP', containerPort }) =>
      name === undefined || name === ''
        ? []
        : [{ name, protocol: protocol.toLowerCase() as Protocol, port: containerPort }],
    ),
  );
}

function canonical(text: string): string | undefined {
  const address = parseIp(text);
  return address === undefined ? undefined : formatIp(address);
}
