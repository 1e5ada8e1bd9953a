// The options of `cox kubelet` about CPUs and memory of single containers: checked as upstream's
// kubelet checks its configuration.

import {
  DEFAULT_RESOURCE_MANAGERS,
  type MemoryReservation,
  type ResourceManagerSettings,
} from '#kubelet/resource-managers/settings.ts';
import {
  parseCpuPolicyOptions,
  PolicyOptionError,
} from '#kubelet/resource-managers/cpu/options.ts';
import { CpuSetError, parseCpuSet } from '#kubelet/resource-managers/cpu-set.ts';
import {
  parseTopologyOptions,
  TopologyOptionError,
} from '#kubelet/resource-managers/hints/options.ts';
import { parseQuantity, QuantityError } from '#machinery/text/quantity.ts';
import { UserError } from '../../user-error.ts';

type Settings = Readonly<Record<string, string>>;

/** With upstream's names. Durations are milliseconds. */
export interface ResourceManagerOptions {
  readonly cpuManagerPolicy?: string;
  readonly cpuManagerPolicyOptions?: Settings;
  readonly cpuManagerReconcilePeriod?: number;
  /** In the kernel's list format. */
  readonly reservedCpus?: string;
  readonly memoryManagerPolicy?: string;
  readonly reservedMemory?: readonly MemoryReservation[];
  readonly topologyManagerPolicy?: string;
  readonly topologyManagerScope?: string;
  readonly topologyManagerPolicyOptions?: Settings;
}

const CPU_POLICIES = ['none', 'static'] as const;
const MEMORY_POLICIES = ['None', 'Static'] as const;
const TOPOLOGY_POLICIES = ['none', 'best-effort', 'restricted', 'single-numa-node'] as const;
const SCOPES = ['container', 'pod'] as const;

/**
 * Returns the settings; undefined if all have their defaults. `featureGates`: 'Name=true,…', of which
 * CPUManagerPolicyAlphaOptions allows some options. Throws UserError.
 */
export function resourceManagerSettings(
  options: ResourceManagerOptions,
  featureGates: string,
): ResourceManagerSettings | undefined {
  const settings: ResourceManagerSettings = {
    cpuManagerPolicy: oneOf(
      options.cpuManagerPolicy ?? 'none',
      CPU_POLICIES,
      (value) => `cpuManagerPolicy (--cpu-manager-policy): unknown policy: ${value}`,
    ),
    cpuManagerPolicyOptions: options.cpuManagerPolicyOptions ?? {},
    cpuManagerAlphaOptions: /(^|,)\s*CPUManagerPolicyAlphaOptions=true\s*(,|$)/i.test(featureGates),
    cpuManagerReconcileMs:
      options.cpuManagerReconcilePeriod ?? DEFAULT_RESOURCE_MANAGERS.cpuManagerReconcileMs,
    reservedSystemCPUs: options.reservedCpus ?? '',
    memoryManagerPolicy: oneOf(
      options.memoryManagerPolicy ?? 'None',
      MEMORY_POLICIES,
      (value) => `memoryManagerPolicy (--memory-manager-policy): unknown policy: ${value}`,
    ),
    reservedMemory: (options.reservedMemory ?? []).map(withTexts),
    topologyManagerPolicy: oneOf(
      options.topologyManagerPolicy ?? 'none',
      TOPOLOGY_POLICIES,
      (value) =>
        `topologyManagerPolicy (--topology-manager-policy) ${value} must be one of: ` +
        `[${TOPOLOGY_POLICIES.map((name) => JSON.stringify(name)).join(' ')}]`,
    ),
    topologyManagerScope: oneOf(
      options.topologyManagerScope ?? 'container',
      SCOPES,
      (value) =>
        `topologyManagerScope (--topology-manager-scope) ${value} must be one of: "container", or "pod"`,
    ),
    topologyManagerPolicyOptions: options.topologyManagerPolicyOptions ?? {},
  };
  check(settings);
  return isDefault(settings) ? undefined : settings;
}

function isDefault(settings: ResourceManagerSettings): boolean {
  return JSON.stringify(settings) === JSON.stringify(DEFAULT_RESOURCE_MANAGERS);
}

function check(settings: ResourceManagerSettings): void {
  try {
    parseCpuPolicyOptions(settings.cpuManagerPolicyOptions, settings.cpuManagerAlphaOptions);
    parseTopologyOptions(settings.topologyManagerPolicyOptions);
    parseCpuSet(settings.reservedSystemCPUs);
  } catch (error) {
    if (error instanceof CpuSetError) {
      throw invalid(
        'unable to parse reservedSystemCPUs (--reserved-cpus) ' +
          `${settings.reservedSystemCPUs}, error: ${error.message}`,
      );
    }
    if (error instanceof PolicyOptionError)
      throw invalid(`cpuManagerPolicyOptions (--cpu-manager-policy-options): ${error.message}`);
    if (error instanceof TopologyOptionError)
      throw invalid(
        `topologyManagerPolicyOptions (--topology-manager-policy-options): ${error.message}`,
      );
    throw error;
  }
  if (
    settings.cpuManagerPolicy === 'none' &&
    Object.keys(settings.cpuManagerPolicyOptions).length > 0
  )
    throw invalid(
      'cpuManagerPolicyOptions (--cpu-manager-policy-options): none policy: received unsupported ' +
        'options',
    );
  checkReservedMemory(settings.reservedMemory);
}

/** Returns the reservation with texts as amounts: in YAML they may be numbers. */
function withTexts({ numaNode, limits }: MemoryReservation): MemoryReservation {
  if (!Number.isInteger(numaNode) || typeof limits !== 'object')
    throw invalid('reservedMemory needs the fields numaNode and limits');
  const amounts: readonly (readonly [string, unknown])[] = Object.entries(limits);
  return {
    numaNode,
    limits: Object.fromEntries(amounts.map(([name, text]) => [name, String(text)])),
  };
}

function checkReservedMemory(reservations: readonly MemoryReservation[]): void {
  const seen = new Set<string>();
  for (const { numaNode, limits } of reservations) {
    for (const [resource, amount] of Object.entries(limits)) {
      if (resource !== 'memory' && !resource.startsWith('hugepages-')) {
        throw invalid(
          `the limit type ${JSON.stringify(resource)} for NUMA node ${numaNode} is not supported, ` +
            'only [memory hugepages-<HugePageSize>] is accepted',
        );
      }
      if (bytesOf(amount) === 0) {
        throw invalid(
          `reserved memory may not be zero for NUMA node ${numaNode} and resource ` +
            JSON.stringify(resource),
        );
      }
      const key = `${numaNode} ${resource}`;
      if (seen.has(key)) {
        throw invalid(
          `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource ` +
            JSON.stringify(resource),
        );
      }
      seen.add(key);
    }
  }
}

function bytesOf(amount: string): number {
  try {
    return parseQuantity(amount).value();
  } catch (error) {
    if (error instanceof QuantityError)
      throw invalid(`reservedMemory (--reserved-memory): ${amount}: ${error.message}`);
    throw error;
  }
}

/**
 * Returns the reservations with the reserved CPUs in place of amounts: a list of CPUs replaces what
 * is reserved for the kubelet and the system, as upstream.
 */
export function withReservedCpus(
  reservedCpus: string | undefined,
  kubeReserved: Settings | undefined,
  systemReserved: Settings | undefined,
): { readonly kubeReserved: Settings | undefined; readonly systemReserved: Settings | undefined } {
  const count = parseCpuSet(reservedCpus ?? '').size;
  if (count === 0) return { kubeReserved, systemReserved };
  const { cpu: _, ...kube } = kubeReserved ?? {};
  return {
    kubeReserved: Object.keys(kube).length === 0 ? undefined : kube,
    systemReserved: { ...systemReserved, cpu: String(count) },
  };
}

function oneOf<T extends string>(
  value: string,
  values: readonly T[],
  problem: (value: string) => string,
): T {
  const found = values.find((one) => one === value);
  if (found === undefined) throw invalid(problem(JSON.stringify(value)));
  return found;
}

function invalid(problem: string): UserError {
  return new UserError(`invalid configuration: ${problem}`);
}
