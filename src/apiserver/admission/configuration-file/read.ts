// Reads an AdmissionConfiguration: the settings of admission plugins, in the file itself or in files
// that it names.

import type {
  AdmissionConfiguration,
  AdmissionPluginConfiguration,
  WebhookAdmissionConfiguration,
} from '#api/config/apiserver/v1/index.ts';
import type { Configuration as EventConfiguration } from '#api/config/eventratelimit/v1alpha1/index.ts';
import type { PodSecurityConfiguration } from '#api/config/pod-security/v1/index.ts';
import type { Configuration as TolerationConfiguration } from '#api/config/podtolerationrestriction/v1alpha1/index.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import {
  ConfigurationError,
  decodeConfiguration,
  decodeConfigurationValue,
  parseConfiguration,
} from '../../configuration-files/decode.ts';
import {
  type AdmissionPluginSettings,
  EVENT_LIMIT_TYPES,
  type EventLimit,
} from '../configuration.ts';
import type { PodSecurityConfig } from '../pod-security/index.ts';
import type { WebhookKubeconfigs } from '../webhook/index.ts';
import { readImagePolicy } from './image-policy.ts';
import { readPodSecurity } from './pod-security.ts';
import { readResourceQuota } from './resource-quota.ts';

const GROUP = 'apiserver.config.k8s.io';
const EXPECTED = {
  group: GROUP,
  versions: ['v1'],
  otherVersions: ['apiserver.k8s.io/v1alpha1'],
  kind: 'AdmissionConfiguration',
  type: 'apiserver/v1.AdmissionConfiguration',
} as const;
const WEBHOOKS = {
  group: GROUP,
  versions: ['v1'],
  kind: 'WebhookAdmissionConfiguration',
  type: 'apiserver/v1.WebhookAdmissionConfiguration',
} as const;
const POD_SECURITY = {
  group: 'pod-security.admission.config.k8s.io',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  kind: 'PodSecurityConfiguration',
  type: 'pod-security/v1.PodSecurityConfiguration',
} as const;
const EVENT_RATE_LIMIT = {
  group: 'eventratelimit.admission.k8s.io',
  versions: ['v1alpha1'],
  kind: 'Configuration',
  type: 'eventratelimit/v1alpha1.Configuration',
} as const;
const TOLERATIONS = {
  group: 'podtolerationrestriction.admission.k8s.io',
  versions: ['v1alpha1'],
  kind: 'Configuration',
  type: 'podtolerationrestriction/v1alpha1.Configuration',
} as const;
const DEFAULT_CACHE_SIZE = 4096;

export interface AdmissionFiles {
  /** Returns the content of a file that the configuration names. Throws Error. */
  read(path: string): string;
  /** Returns the absolute path of a kubeconfig. Throws Error if it cannot be one. */
  kubeconfig(path: string): string;
}

export interface AdmissionSettings {
  readonly podSecurity?: PodSecurityConfig;
  readonly webhookKubeconfigs: WebhookKubeconfigs;
  readonly plugins: AdmissionPluginSettings;
}

/** Returns the settings. Throws ConfigurationError, and the errors of `files`. */
export function readAdmissionConfiguration(text: string, files: AdmissionFiles): AdmissionSettings {
  const { plugins = [] } = decodeConfiguration<AdmissionConfiguration>(text, EXPECTED);
  const names = plugins.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new ConfigurationError(`plugin ${quote(twice)} is configured more than once`);
  return plugins.reduce<AdmissionSettings>(
    (settings, plugin) => ({ ...settings, ...withPlugin(settings, plugin, files) }),
    { webhookKubeconfigs: {}, plugins: {} },
  );
}

function withPlugin(
  { webhookKubeconfigs, plugins }: AdmissionSettings,
  plugin: AdmissionPluginConfiguration,
  files: AdmissionFiles,
): Partial<AdmissionSettings> {
  const value = valueOf(plugin, files);
  if (value === undefined) return {};
  const { name } = plugin;
  switch (name) {
    case 'PodSecurity':
      return {
        podSecurity: readPodSecurity(decoded<PodSecurityConfiguration>(name, value, POD_SECURITY)),
      };
    case 'MutatingAdmissionWebhook':
    case 'ValidatingAdmissionWebhook': {
      const { kubeConfigFile } = decoded<WebhookAdmissionConfiguration>(name, value, WEBHOOKS);
      if (kubeConfigFile === '') return {};
      const type = name === 'MutatingAdmissionWebhook' ? 'admit' : 'validating';
      const path = files.kubeconfig(kubeConfigFile);
      return { webhookKubeconfigs: { ...webhookKubeconfigs, [type]: path } };
    }
    case 'ImagePolicyWebhook':
      return { plugins: { ...plugins, imagePolicy: readImagePolicy(value, files.kubeconfig) } };
    case 'ResourceQuota':
      return {
        plugins: { ...plugins, limitedResources: named(name, () => readResourceQuota(value)) },
      };
    case 'EventRateLimit':
      return { plugins: { ...plugins, eventLimits: eventLimits(name, value) } };
    case 'PodNodeSelector':
      return { plugins: { ...plugins, nodeSelectors: nodeSelectors(value) } };
    case 'PodTolerationRestriction': {
      const { default: byDefault, whitelist } = decoded<TolerationConfiguration>(
        name,
        value,
        TOLERATIONS,
      );
      const tolerations = {
        ...(byDefault !== undefined && { default: byDefault }),
        ...(whitelist !== undefined && { whitelist }),
      };
      return { plugins: { ...plugins, tolerations } };
    }
    default:
      throw new ConfigurationError(`plugin ${quote(name)} takes no configuration here`);
  }
}

/** Returns the parsed configuration; undefined if there is none. An embedded one counts. */
function valueOf(
  { name, path, configuration }: AdmissionPluginConfiguration,
  files: AdmissionFiles,
): unknown {
  if (configuration !== undefined && configuration !== null) return configuration;
  return path === '' ? undefined : named(name, () => parseConfiguration(files.read(path)));
}

function decoded<T>(
  name: string,
  value: unknown,
  expected: Parameters<typeof decodeConfigurationValue>[1],
): T {
  return named(name, () => decodeConfigurationValue<T>(value, expected));
}

/** Adds the plugin's name to errors. */
function named<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(
      `couldn't init admission plugin ${quote(name)}: ${error.message}`,
      {
        cause: error,
      },
    );
  }
}

function eventLimits(name: string, value: unknown): readonly EventLimit[] {
  const { limits = [] } = decoded<EventConfiguration>(name, value, EVENT_RATE_LIMIT);
  const root = field.path('limits');
  const errors: FieldErrorList = [];
  if (limits.length === 0) errors.push(field.invalid(root, [], 'must not be empty'));
  const read = limits.map((limit, index): EventLimit => {
    const at = root.index(index);
    const { qps, burst, cacheSize = 0 } = limit;
    const type = EVENT_LIMIT_TYPES.find((known) => known === limit.type);
    if (type === undefined)
      errors.push(field.notSupported(at.child('type'), limit.type, EVENT_LIMIT_TYPES));
    if (burst <= 0) errors.push(field.invalid(at.child('burst'), burst, 'must be positive'));
    if (qps <= 0) errors.push(field.invalid(at.child('qps'), qps, 'must be positive'));
    if (type !== 'Server' && cacheSize < 0)
      errors.push(field.invalid(at.child('cacheSize'), cacheSize, 'must not be negative'));
    return {
      type: type ?? 'Server',
      qps,
      burst,
      cacheSize: cacheSize > 0 ? cacheSize : DEFAULT_CACHE_SIZE,
    };
  });
  if (errors.length > 0)
    throw new ConfigurationError(
      `couldn't init admission plugin ${quote(name)}: ${field.aggregateMessage(errors)}`,
    );
  return read;
}

/** This configuration has no kind. */
function nodeSelectors(value: unknown): Readonly<Record<string, string>> {
  const selectors = isPlainObject(value) ? value['podNodeSelectorPluginConfig'] : undefined;
  if (
    !isPlainObject(selectors) ||
    Object.values(selectors).some((each) => typeof each !== 'string')
  )
    throw new ConfigurationError(
      'couldn\'t init admission plugin "PodNodeSelector": podNodeSelectorPluginConfig must have ' +
        'a selector for each namespace',
    );
  return selectors as Readonly<Record<string, string>>;
}
