// Builds pods and policies for tests from short texts.

import type { Labels, NetworkPolicy, Pod, PolicyPod } from '../model.ts';
import { podFacts } from '../rules/pod-facts.ts';

export const NODE = 'here';

export interface PodOptions {
  readonly labels?: Labels;
  readonly ips?: readonly string[];
  readonly node?: string;
  /** For example 'tcp/http=80'. */
  readonly ports?: readonly string[];
  readonly hostNetwork?: boolean;
  readonly phase?: string;
  readonly uid?: string;
  readonly created?: string;
}

/** Returns a pod, named 'namespace/name'. Default: running on NODE without labels. */
export function apiPod(key: string, options: PodOptions = {}): Pod {
  const [namespace = '', name = ''] = key.split('/');
  const {
    labels = {},
    ips = [],
    node = NODE,
    ports = [],
    hostNetwork = false,
    phase = 'Running',
  } = options;
  const { uid = `uid-${key}`, created = '2026-01-01T00:00:00Z' } = options;
  const containerPorts = ports.map((text) => {
    const [protocol = '', portName = '', port = ''] = text.split(/[/=]/);
    return { protocol: protocol.toUpperCase(), name: portName, containerPort: Number(port) };
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, uid, labels, creationTimestamp: created },
    spec: {
      nodeName: node,
      hostNetwork,
      containers: [{ name: 'c', image: 'i', ports: containerPorts }],
    },
    status: { phase, podIPs: ips.map((ip) => ({ ip })) },
  } as unknown as Pod;
}

export function pod(key: string, options: PodOptions = {}): PolicyPod {
  const facts = podFacts(apiPod(key, options), NODE, undefined);
  if (facts === undefined) throw new Error(`${key} is not seen by policies`);
  return facts;
}

/** Returns a policy, named 'namespace/name'. Default: it selects all pods and has both types. */
export function apiPolicy(key: string, spec: Partial<NetworkPolicy['spec']> = {}): NetworkPolicy {
  const [namespace = '', name = ''] = key.split('/');
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace },
    spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ...spec },
  } as NetworkPolicy;
}

export const select = (label: string): { readonly matchLabels: Labels } => {
  const [key = '', value = ''] = label.split('=');
  return { matchLabels: { [key]: value } };
};
