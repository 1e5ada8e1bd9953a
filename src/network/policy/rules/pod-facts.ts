// The properties of a pod that policies depend on.

import { formatIp, parseIp } from '#machinery/net/ip.ts';
import type { NamedPort, Pod, PolicyPod, Protocol } from '../model.ts';

/** The kubelet's announcement of a pod, before the API has its addresses. */
export interface Announcement {
  readonly addresses: readonly string[];
  /** A counter of announcements: a later one is greater. */
  readonly sequence: number;
}

/** Later than any creation time, in milliseconds. */
const ANNOUNCED = 2 ** 50;

/**
 * Returns the properties of a pod; undefined for pods without policies: pods in the host network
 * have the node's address, and ended pods have none.
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
  // The kubelet may have failed to read the addresses of a sandbox; its later report then counts.
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

/** Returns the named ports of containers and of sidecars. */
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
