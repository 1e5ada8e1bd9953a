// The downward API: values about a pod for its variables and files.

import { quote } from '#machinery/text/go-format.ts';
import { parseQuantity, type Quantity } from '#machinery/text/quantity.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Container, Pod, ResourceList } from '../types.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

/** Information about the pod beyond its object. */
export interface DownwardContext {
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
  /** The limits of a container that sets none. */
  readonly nodeAllocatable: ResourceList;
}

/** Returns the value of a field. Throws if the path is not supported. */
export function fieldValue(pod: Pod, fieldPath: string, context: DownwardContext): string {
  switch (fieldPath) {
    case 'spec.nodeName':
      return pod.spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return context.hostIPs[0] ?? '';
    case 'status.hostIPs':
      return context.hostIPs.join(',');
    case 'status.podIP':
      return context.podIPs[0] ?? '';
    case 'status.podIPs':
      return context.podIPs.join(',');
    default:
      return metadataValue(pod, fieldPath);
  }
}

/** Returns the value of a field of metadata, which is all that a downwardAPI volume may show. */
export function metadataValue(pod: Pod, fieldPath: string): string {
  const keyed = /^metadata\.(annotations|labels)\['(.+)'\]$/.exec(fieldPath);
  if (keyed !== null) {
    const { labels, annotations } = pod.metadata;
    return ownValue(keyed[1] === 'labels' ? labels : annotations, keyed[2] ?? '') ?? '';
  }
  switch (fieldPath) {
    case 'metadata.name':
      return pod.metadata.name;
    case 'metadata.namespace':
      return pod.metadata.namespace ?? '';
    case 'metadata.uid':
      return pod.metadata.uid;
    case 'metadata.labels':
      return formatMap(pod.metadata.labels ?? {});
    case 'metadata.annotations':
      return formatMap(pod.metadata.annotations ?? {});
    default:
      throw new Error(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** Formats one `key="value"` per line, sorted by key. */
function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.keys(map)
    .toSorted()
    .map((key) => `${key}=${quote(map[key] ?? '')}`)
    .join('\n');
}

/** Returns the value of a resource field. Throws if the container or resource is not supported. */
export function resourceValue(
  pod: Pod,
  container: Container,
  selector: Immutable<v1.ResourceFieldSelector>,
  context: DownwardContext,
): string {
  const target =
    selector.containerName === undefined || selector.containerName === ''
      ? container
      : [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(
          (candidate) => candidate.name === selector.containerName,
        );
  if (target === undefined) throw new Error(`container ${selector.containerName} not found`);
  const [kind, resource] = splitOnce(selector.resource);
  if ((kind !== 'limits' && kind !== 'requests') || resource === '') {
    throw new Error(`unsupported container resource : ${selector.resource}`);
  }
  const own = kind === 'limits' ? target.resources?.limits : target.resources?.requests;
  // Without a limit, the node's allocatable amount counts.
  const fallback = kind === 'limits' ? context.nodeAllocatable[resource] : undefined;
  const amount = parseQuantity(own?.[resource] ?? fallback ?? '0');
  const divisor =
    selector.divisor === undefined || selector.divisor === '0'
      ? parseQuantity('1')
      : parseQuantity(selector.divisor);
  return String(divideRoundingUp(amount, divisor));
}

function splitOnce(text: string): readonly [string, string] {
  const dot = text.indexOf('.');
  return dot < 0 ? [text, ''] : [text.slice(0, dot), text.slice(dot + 1)];
}

function divideRoundingUp(amount: Quantity, divisor: Quantity): bigint {
  const [a, b] = [amount.scaledValueExact(-9), divisor.scaledValueExact(-9)];
  return b === 0n ? 0n : (a + b - 1n) / b;
}
