// AdmissionConfigurations, valid and not.

import { expect, test } from 'vitest';

import { readAdmissionConfiguration } from './read.ts';

const POD_SECURITY = {
  apiVersion: 'pod-security.admission.config.k8s.io/v1',
  kind: 'PodSecurityConfiguration',
};
const WEBHOOKS = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'WebhookAdmissionConfiguration',
};
const EVENTS = { apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1', kind: 'Configuration' };
const TOLERATIONS = {
  apiVersion: 'podtolerationrestriction.admission.k8s.io/v1alpha1',
  kind: 'Configuration',
};

const files = {
  read: (path: string) => `podNodeSelectorPluginConfig: { team: 'from=${path}' }`,
  kubeconfig: (path: string) => path,
};

const fileWith = (...plugins: readonly object[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins,
  });
const plugin = (name: string, configuration: object): object => ({ name, configuration });

test('both versions of upstream', () => {
  const of = (apiVersion: string): string =>
    JSON.stringify({ apiVersion, kind: 'AdmissionConfiguration', plugins: [] });
  const empty = { webhookKubeconfigs: {}, plugins: {} };
  for (const version of ['apiserver.config.k8s.io/v1', 'apiserver.k8s.io/v1alpha1'])
    expect(readAdmissionConfiguration(of(version), files)).toEqual(empty);
  expect(() => readAdmissionConfiguration(of('apiserver.config.k8s.io/v1alpha1'), files)).toThrow(
    /no kind "AdmissionConfiguration" is registered for version/,
  );
});

test('the settings of every plugin, in the file and beside it', () => {
  const text = fileWith(
    plugin('PodSecurity', {
      ...POD_SECURITY,
      defaults: { enforce: 'baseline', 'enforce-version': 'v1.30', warn: 'restricted' },
      exemptions: { namespaces: ['kube-system'], usernames: ['admin'] },
    }),
    plugin('MutatingAdmissionWebhook', { ...WEBHOOKS, kubeConfigFile: '/a' }),
    plugin('ValidatingAdmissionWebhook', { ...WEBHOOKS, kubeConfigFile: '/b' }),
    plugin('EventRateLimit', { ...EVENTS, limits: [{ type: 'Server', qps: 5, burst: 10 }] }),
    plugin('PodTolerationRestriction', { ...TOLERATIONS, whitelist: [{ key: 'a' }] }),
    plugin('ImagePolicyWebhook', {
      imagePolicy: { kubeConfigFile: '/c', denyTTL: -1, retryBackoff: 100, defaultAllow: true },
    }),
    { name: 'PodNodeSelector', path: 'selectors.yaml' },
  );
  expect(readAdmissionConfiguration(text, files)).toEqual({
    podSecurity: {
      defaults: {
        enforce: { level: 'baseline', version: 'v1.30' },
        warn: { level: 'restricted', version: 'latest' },
        audit: { level: 'privileged', version: 'latest' },
      },
      exemptions: { namespaces: ['kube-system'], runtimeClasses: [], usernames: ['admin'] },
    },
    webhookKubeconfigs: { admit: '/a', validating: '/b' },
    plugins: {
      eventLimits: [{ type: 'Server', qps: 5, burst: 10, cacheSize: 4096 }],
      tolerations: { whitelist: [{ key: 'a' }] },
      imagePolicy: {
        kubeConfigFile: '/c',
        allowTtlMs: 300_000,
        denyTtlMs: 0,
        retryBackoffMs: 100,
        defaultAllow: true,
      },
      nodeSelectors: { team: 'from=selectors.yaml' },
    },
  });
});

const init = (name: string): string => `couldn't init admission plugin "${name}": `;

test.each<[string, string]>([
  ['{}', "Object 'Kind' is missing in '{}'"],
  [fileWith({ nam: 'x' }), 'strict decoding error: unknown field "plugins[0].nam"'],
  [fileWith(plugin('LimitRanger', { a: 1 })), 'plugin "LimitRanger" takes no configuration here'],
  [
    fileWith(plugin('PodNodeSelector', { podNodeSelectorPluginConfig: {} }), {
      name: 'PodNodeSelector',
    }),
    'plugin "PodNodeSelector" is configured more than once',
  ],
  [
    fileWith(plugin('PodSecurity', { ...POD_SECURITY, defaults: { enforced: 'x' } })),
    `${init('PodSecurity')}strict decoding error: unknown field "defaults.enforced"`,
  ],
  [
    fileWith(
      plugin('PodSecurity', {
        ...POD_SECURITY,
        defaults: { enforce: 'strict', 'warn-version': '1.25' },
        exemptions: { namespaces: ['a', 'a', 'A'], usernames: [''] },
      }),
    ),
    `${init('PodSecurity')}[defaults.enforce: Invalid value: "strict": ` +
      'must be one of privileged, baseline, restricted, ' +
      'defaults.warn-version: Invalid value: "1.25": must be "latest" or "v1.x", ' +
      'exemptions.namespaces[1]: Duplicate value: "a", ' +
      'exemptions.namespaces[2]: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case ' +
      "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or " +
      "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), " +
      'exemptions.usernames[0]: Invalid value: "": username must not be empty]',
  ],
  [
    fileWith(
      plugin('ResourceQuota', {
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'ResourceQuotaConfiguration',
        limitedResources: [{ resource: 'pods' }, { apiGroup: 'apps' }],
      }),
    ),
    `${init('ResourceQuota')}limitedResources[1].resource: Required value`,
  ],
  [
    fileWith(plugin('EventRateLimit', { ...EVENTS, limits: [{ type: 'Pod', qps: 0, burst: -1 }] })),
    `${init('EventRateLimit')}[limits[0].type: Unsupported value: "Pod": ` +
      'supported values: "Server", "Namespace", "User", "SourceAndObject", ' +
      'limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive]',
  ],
  [
    fileWith(
      plugin('ImagePolicyWebhook', { imagePolicy: { kubeConfigFile: '/a', allowTTL: 7200 } }),
    ),
    `${init('ImagePolicyWebhook')}valid value is between 1s and 30m0s, got 2h0m0s`,
  ],
  [
    fileWith(plugin('ImagePolicyWebhook', {})),
    `${init('ImagePolicyWebhook')}imagePolicy must have the settings of the webhook`,
  ],
  [
    fileWith(plugin('PodNodeSelector', { selectors: {} })),
    `${init('PodNodeSelector')}podNodeSelectorPluginConfig must have a selector for each namespace`,
  ],
])('%s', (text, message) => {
  expect(() => readAdmissionConfiguration(text, files)).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', message }),
  );
});

test.each([
  { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'ResourceQuotaConfiguration' },
  { apiVersion: 'resourcequota.admission.k8s.io/v1beta1', kind: 'Configuration' },
])('limited resources as $kind', (meta) => {
  const limitedResources = [
    { resource: 'persistentvolumeclaims', matchContains: ['gold.storageclass'] },
    { resource: 'pods', matchScopes: [{ scopeName: 'PriorityClass', operator: 'Exists' }] },
  ];
  const file = fileWith(plugin('ResourceQuota', { ...meta, limitedResources }));
  expect(readAdmissionConfiguration(file, files).plugins.limitedResources).toEqual([
    {
      group: '',
      resource: 'persistentvolumeclaims',
      matchContains: ['gold.storageclass'],
      matchScopes: [],
    },
    {
      group: '',
      resource: 'pods',
      matchContains: [],
      matchScopes: [{ scopeName: 'PriorityClass', operator: 'Exists' }],
    },
  ]);
});
