// Decides which node announces which address of a load balancer. Pure: every node comes to the same
// result from the same objects.

import { createHash } from 'node:crypto';
import type { Node, Service } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  endpointsOf,
  type Protocol,
  protocolOf,
  usableEndpoints,
} from '#client/endpoints/index.ts';
import { formatIp, type IpFamily, parseIp } from '#machinery/net/ip.ts';
import type { IpPool } from '#machinery/net/ip-pool.ts';

/** Nodes with this label are excluded from load balancing. */
const EXCLUDED = 'node.kubernetes.io/exclude-from-external-load-balancers';

export interface Announcement {
  readonly address: string;
  /** 'namespace/name'. */
  readonly service: string;
  readonly ports: readonly { readonly protocol: Protocol; readonly port: number }[];
  /** Nodes that may announce the address. The first live one does. */
  readonly candidates: readonly string[];
}

export interface ClusterState {
  readonly services: readonly Immutable<Service>[];
  /** Returns the slices of a service. */
  readonly slicesOf: (service: string) => readonly Immutable<EndpointSlice>[];
  readonly nodes: readonly Immutable<Node>[];
  /**
   * Only addresses of the pool are announced: a status may name any address of the link, so a
   * client with write access to it could intercept traffic.
   */
  readonly pool: IpPool;
}

/**
 * Returns the announcements by address. Of two services with the same address, the older one wins.
 */
export function decideAnnouncements({
  services,
  slicesOf,
  nodes,
  pool,
}: ClusterState): ReadonlyMap<string, Announcement> {
  const eligible = eligibleNodes(nodes);
  const announcements = new Map<string, Announcement>();
  for (const service of [...services].sort(byAge)) {
    const { spec, metadata, status } = service;
    if (spec.type !== 'LoadBalancer' || spec.loadBalancerClass !== undefined) continue;
    const key = `${metadata.namespace ?? ''}/${metadata.name}`;
    for (const { ip = '', ipMode = 'VIP' } of status.loadBalancer.ingress ?? []) {
      const parsed = parseIp(ip);
      if (parsed === undefined || ipMode !== 'VIP' || !pool.has(ip)) continue;
      const address = formatIp(parsed);
      if (announcements.has(address)) continue;
      const serving =
        spec.externalTrafficPolicy === 'Local'
          ? nodesWithEndpoints(slicesOf(key), parsed.family)
          : undefined;
      const candidates =
        serving === undefined ? eligible : eligible.filter((name) => serving.has(name));
      const ports = (spec.ports ?? []).flatMap(({ port, protocol: text }) => {
        const protocol = protocolOf(text);
        return protocol === undefined ? [] : [{ protocol, port }];
      });
      announcements.set(address, {
        address,
        service: key,
        ports,
        candidates: ranked(address, candidates),
      });
    }
  }
  return announcements;
}

/**
 * Returns the ready nodes; if there are none, all: an address must not be withdrawn because
 * kubelets do not report. Simulated nodes have no network.
 */
function eligibleNodes(nodes: readonly Immutable<Node>[]): readonly string[] {
  const taking = nodes.filter(
    ({ metadata, status }) =>
      !Object.hasOwn(metadata.labels ?? {}, EXCLUDED) &&
      !(status.nodeInfo?.containerRuntimeVersion ?? '').startsWith('simulated://'),
  );
  const ready = taking.filter(isReady);
  return (ready.length > 0 ? ready : taking).map(({ metadata }) => metadata.name);
}

export const isReady = ({ status }: Immutable<Node>): boolean =>
  status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';

function nodesWithEndpoints(
  slices: readonly Immutable<EndpointSlice>[],
  family: IpFamily,
): ReadonlySet<string> {
  const ports = [...endpointsOf(slices, family).values()];
  return new Set(
    ports.flatMap((endpoints) => usableEndpoints(endpoints).map(({ nodeName }) => nodeName)),
  );
}

/** Orders nodes by rendezvous hashing: an added or removed node moves only its own addresses. */
function ranked(address: string, nodes: readonly string[]): readonly string[] {
  const weights = nodes.map((name) => ({
    name,
    weight: createHash('sha256').update(`${address}\n${name}`).digest('hex'),
  }));
  return weights.sort((a, b) => (a.weight < b.weight ? 1 : -1)).map(({ name }) => name);
}

function byAge(a: Immutable<Service>, b: Immutable<Service>): number {
  const [left, right] = [a, b].map(
    ({ metadata }) =>
      `${metadata.creationTimestamp ?? ''} ${metadata.namespace ?? ''}/${metadata.name}`,
  );
  return (left ?? '') < (right ?? '') ? -1 : 1;
}
