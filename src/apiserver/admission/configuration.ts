// The settings of admission plugins that operators give in an AdmissionConfiguration, as values.

import type { ScopedResourceSelectorRequirement, Toleration } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export const EVENT_LIMIT_TYPES = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;

/** A limit of the writes of events. */
export interface EventLimit {
  /** Requests with the same property share a limit; Server: all requests do. */
  readonly type: (typeof EVENT_LIMIT_TYPES)[number];
  /** Requests per second in the long run. */
  readonly qps: number;
  /** Requests at once, after a pause. */
  readonly burst: number;
  /** The number of limits that are kept in memory. */
  readonly cacheSize: number;
}

export interface TolerationSettings {
  /** Pods get them in namespaces without defaults of their own. Absent: none. */
  readonly default?: readonly Immutable<Toleration>[];
  /** The tolerations that pods may have in namespaces without a list of their own. Absent: all. */
  readonly whitelist?: readonly Immutable<Toleration>[];
}

/** The webhook of ImagePolicyWebhook. */
export interface ImagePolicySettings {
  /** The kubeconfig of the webhook. The server reads it. */
  readonly kubeConfigFile: string;
  /** How long answers are kept that allow, in ms. 0: they are not. */
  readonly allowTtlMs: number;
  /** How long other answers are kept, in ms. 0: they are not. */
  readonly denyTtlMs: number;
  /** The pause before the second attempt, in ms. */
  readonly retryBackoffMs: number;
  /** Whether pods are admitted while the webhook fails. */
  readonly defaultAllow: boolean;
}

/** A resource that may be used only where a quota counts it. */
export interface LimitedResource {
  readonly group: string;
  readonly resource: string;
  /** Parts of the names of usages, such as 'requests.storage', that need a quota. */
  readonly matchContains: readonly string[];
  /** Scopes of pods and claims, whatever `resource` is, that need a quota of that scope. */
  readonly matchScopes: readonly Immutable<ScopedResourceSelectorRequirement>[];
}

export interface AdmissionPluginSettings {
  /** Default: everything may be used without a quota. */
  readonly limitedResources?: readonly LimitedResource[];
  /** Required by ImagePolicyWebhook. */
  readonly imagePolicy?: ImagePolicySettings;
  /** Default: events are not limited. */
  readonly eventLimits?: readonly EventLimit[];
  /** Labels of nodes by namespace, as `a=b,c=d`; and the default under `clusterDefaultNodeSelector`. */
  readonly nodeSelectors?: Readonly<Record<string, string>>;
  readonly tolerations?: TolerationSettings;
}
