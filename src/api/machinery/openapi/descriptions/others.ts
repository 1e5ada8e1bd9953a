// Descriptions of events, quotas, options, discovery, tables and other types without a page of
// their own.

import type { Descriptions } from './form.ts';

const OPTIONAL_KEY = {
  name: 'The name of the object.',
  key: 'The key.',
  optional: 'Whether the object or the key may be missing.',
};
const STREAMS = {
  stdin: 'Whether the client sends stdin. Default: false.',
  stdout: 'Whether the client gets stdout. Default: true.',
  stderr: 'Whether the client gets stderr. Default: true.',
  tty: 'Whether there is a terminal. Default: false.',
  container: 'The container. Default: the only one of the pod.',
};
const DRY_RUN = 'All, to do everything but store the result.';
const MANAGER = 'The name of the manager of the fields that are changed, at most 128 characters.';
const FIELD_VALIDATION =
  'Treatment of unknown and duplicate fields: Ignore, Warn or Strict. Default: Warn.';
const SELECTORS = {
  labelSelector: 'Restricts the objects by labels.',
  fieldSelector: 'Restricts the objects by fields.',
};
const VERSION = 'Which state is read: empty the latest, "0" any, otherwise at least this version.';
const GV = {
  group: 'The API group.',
  version: 'The API version.',
  resource: 'The resource.',
  kind: 'The kind.',
};
const PATH_OPTION = { path: 'The path of the request to the other side.' };

const pick = (...names: (keyof typeof GV)[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, GV[name]]));

export const others: Descriptions = {
  'core/v1.FileKeySelector': {
    type: 'A variable in a file of a volume.',
    fields: {
      volumeName: 'The volume, an emptyDir.',
      path: 'The path of the file in the volume.',
      key: 'The variable in the file.',
      optional: 'Whether the file or the variable may be missing.',
    },
  },
  'core/v1.ObjectFieldSelector': {
    type: 'A field of the pod.',
    fields: {
      apiVersion: 'The version of the path. Default: v1.',
      fieldPath: 'The path of the field, such as metadata.name.',
    },
  },
  'core/v1.ResourceFieldSelector': {
    type: 'A resource of a container.',
    fields: {
      containerName: 'The container. In environment variables the default is the container itself.',
      resource: 'The resource, such as limits.cpu.',
      divisor: 'The unit of the value, such as 1m or 1Mi. Default: 1.',
    },
  },
  'core/v1.ConfigMapKeySelector': { type: 'A key of a ConfigMap.', fields: OPTIONAL_KEY },
  'core/v1.SecretKeySelector': { type: 'A key of a secret.', fields: OPTIONAL_KEY },
  'core/v1.EnvFromSource': {
    type: 'Environment variables from a ConfigMap or secret.',
    fields: {
      prefix: 'A prefix of each name.',
      configMapRef: 'The ConfigMap.',
      secretRef: 'The secret.',
    },
  },
  'core/v1.ConfigMapEnvSource': {
    type: 'A ConfigMap, each key of which is a variable.',
    fields: { name: OPTIONAL_KEY.name, optional: 'Whether the ConfigMap may be missing.' },
  },
  'core/v1.SecretEnvSource': {
    type: 'A secret, each key of which is a variable.',
    fields: { name: OPTIONAL_KEY.name, optional: 'Whether the secret may be missing.' },
  },
  'core/v1.HTTPHeader': {
    type: 'An HTTP header.',
    fields: { name: 'The name.', value: 'The value.' },
  },
  'core/v1.HTTPGetAction': {
    type: 'An HTTP GET request.',
    fields: {
      path: 'The path. Default: /.',
      port: 'The port, by number or name.',
      host: 'The host. Default: the address of the pod.',
      scheme: 'HTTP or HTTPS. Default: HTTP.',
      httpHeaders: 'Headers of the request.',
    },
  },
  'core/v1.TCPSocketAction': {
    type: 'A TCP connection.',
    fields: {
      port: 'The port, by number or name.',
      host: 'The host. Default: the address of the pod.',
    },
  },
  'core/v1.GRPCAction': {
    type: 'A gRPC health check.',
    fields: { port: 'The port.', service: 'The service in the request. Default: empty.' },
  },
  'core/v1.ExecAction': {
    type: 'A command in the container.',
    fields: {
      command: 'The command and its arguments. It does not run in a shell. Exit code 0 is success.',
    },
  },
  'core/v1.SleepAction': { type: 'A pause.', fields: { seconds: 'The number of seconds.' } },
  'core/v1.Capabilities': {
    type: 'Linux capabilities of a container.',
    fields: { add: 'Capabilities to add.', drop: 'Capabilities to remove.' },
  },
  'core/v1.ProbeHandler': {
    type: 'How a container is checked. One field is set.',
    fields: {
      exec: 'A command.',
      httpGet: 'An HTTP request.',
      tcpSocket: 'A TCP connection.',
      grpc: 'A gRPC health check.',
    },
  },
  'core/v1.LifecycleHandler': {
    type: 'An action of a lifecycle hook. One field is set.',
    fields: {
      exec: 'A command.',
      httpGet: 'An HTTP request.',
      tcpSocket: 'Not supported.',
      sleep: 'A pause.',
    },
  },
  'core/v1.EphemeralContainerCommon': {
    type: 'The fields that ephemeral containers share with others.',
    like: 'core/v1.Container',
  },
  'core/v1.ContainerUser': {
    type: 'The user of a container.',
    fields: { linux: 'The user, on Linux.' },
  },
  'core/v1.LinuxContainerUser': {
    type: 'The user of the first process of a container.',
    fields: {
      uid: 'The user ID.',
      gid: 'The primary group ID.',
      supplementalGroups: 'The other group IDs.',
    },
  },
  'core/v1.VolumeMountStatus': {
    type: 'A mount in a container.',
    fields: {
      name: 'The volume.',
      mountPath: 'The path in the container.',
      readOnly: 'Whether it is mounted read-only.',
      recursiveReadOnly: 'Whether mounts below it are read-only, too.',
      volumeStatus: 'The state of the volume.',
    },
  },
  'core/v1.VolumeStatus': {
    type: 'The state of a volume.',
    fields: { image: 'The state of an image volume.' },
  },
  'core/v1.ImageVolumeStatus': {
    type: 'The state of an image volume.',
    fields: { imageRef: 'The digest of the image.' },
  },
  'core/v1.ContainerRestartRule': {
    type: 'A rule for restarts of a container.',
    fields: {
      action: 'Restart or RestartAllContainers.',
      exitCodes: 'The exit codes that the rule is for.',
    },
  },
  'core/v1.ContainerRestartRuleOnExitCodes': {
    type: 'Exit codes.',
    fields: { operator: 'In or NotIn.', values: 'The exit codes.' },
  },
  'core/v1.HostAlias': {
    type: 'A line of the hosts file.',
    fields: { ip: 'The address.', hostnames: 'The names.' },
  },
  'core/v1.SeccompProfile': {
    type: 'A seccomp profile.',
    fields: {
      type: 'Localhost, RuntimeDefault or Unconfined.',
      localhostProfile: 'The path of the profile on the node, for Localhost.',
    },
  },
  'core/v1.AppArmorProfile': {
    type: 'An AppArmor profile.',
    fields: {
      type: 'Localhost, RuntimeDefault or Unconfined.',
      localhostProfile: 'The name of the profile on the node, for Localhost.',
    },
  },
  'core/v1.SELinuxOptions': {
    type: 'An SELinux label.',
    fields: { user: 'The user.', role: 'The role.', type: 'The type.', level: 'The level.' },
  },
  'core/v1.WindowsSecurityContextOptions': {
    type: 'Security settings on Windows.',
    fields: {
      gmsaCredentialSpecName: 'The name of the GMSA credential spec.',
      gmsaCredentialSpec: 'The GMSA credential spec.',
      runAsUserName: 'The user of the process.',
      hostProcess: 'Whether the container runs as a process of the host.',
    },
  },
  'core/v1.Sysctl': {
    type: 'A kernel parameter.',
    fields: { name: 'The name.', value: 'The value.' },
  },
  'core/v1.PodDNSConfig': {
    type: 'Settings of the resolver.',
    fields: {
      nameservers: 'Addresses of name servers.',
      searches: 'Search domains.',
      options: 'Options of the resolver.',
    },
  },
  'core/v1.PodDNSConfigOption': {
    type: 'An option of the resolver.',
    fields: { name: 'The name.', value: 'The value.' },
  },
  'core/v1.PodIP': { type: 'An address of a pod.', fields: { ip: 'The address.' } },
  'core/v1.HostIP': { type: 'An address of a node.', fields: { ip: 'The address.' } },
  'core/v1.PodStatusResult': { type: 'The status of a pod, as nodes report it.' },
  'core/v1.NodeConfigSource': {
    type: 'A source of kubelet configuration. No longer supported.',
    fields: { configMap: 'A ConfigMap.' },
  },
  'core/v1.ConfigMapNodeConfigSource': {
    type: 'A ConfigMap with kubelet configuration. No longer supported.',
    fields: {
      namespace: 'The namespace.',
      name: 'The name.',
      uid: 'The UID.',
      resourceVersion: 'The version.',
      kubeletConfigKey: 'The key with the configuration.',
    },
  },
  'core/v1.NodeConfigStatus': {
    type: 'The state of kubelet configuration. No longer supported.',
    fields: {
      assigned: 'The assigned configuration.',
      active: 'The configuration in use.',
      lastKnownGood: 'The configuration to fall back to.',
      error: 'A problem with the configuration.',
    },
  },
  'core/v1.DaemonEndpoint': {
    type: 'A port of a daemon.',
    fields: { Port: 'The number of the port.' },
  },
  'core/v1.NodeDaemonEndpoints': {
    type: 'Ports of daemons on a node.',
    fields: { kubeletEndpoint: 'The port of the kubelet.' },
  },
  'core/v1.NodeRuntimeHandlerFeatures': {
    type: 'Features of a runtime handler.',
    fields: {
      recursiveReadOnlyMounts: 'Whether mounts can be read-only recursively.',
      userNamespaces: 'Whether pods can have user namespaces.',
    },
  },
  'core/v1.NodeRuntimeHandler': {
    type: 'A runtime handler of a node.',
    fields: { name: 'The name. Empty: the default.', features: 'Features of the handler.' },
  },
  'core/v1.NodeFeatures': {
    type: 'Features of the container runtime of a node.',
    fields: { supplementalGroupsPolicy: 'Whether supplementalGroupsPolicy has an effect.' },
  },
  'core/v1.NodeSwapStatus': { type: 'Swap of a node.', fields: { capacity: 'The size in bytes.' } },
  'core/v1.AvoidPods': {
    type: 'Pods that a node avoids.',
    fields: { preferAvoidPods: 'The pods.' },
  },
  'core/v1.PreferAvoidPodsEntry': {
    type: 'Pods that a node avoids.',
    fields: {
      podSignature: 'The pods.',
      evictionTime: 'Since when.',
      reason: 'The reason, as one word.',
      message: 'The reason, for people.',
    },
  },
  'core/v1.PodSignature': {
    type: 'Selects pods.',
    fields: { podController: 'The controller of the pods.' },
  },
  'core/v1.ContainerImage': {
    type: 'An image on a node.',
    fields: { names: 'The names of the image.', sizeBytes: 'The size in bytes.' },
  },
  'core/v1.NamespaceCondition': { type: 'A condition of a namespace.' },
  'core/v1.Preconditions': {
    type: 'Conditions of an operation.',
    fields: { uid: 'The UID that the object must have.' },
  },
  'core/v1.PodLogOptions': {
    type: 'Options of a request for logs.',
    fields: {
      container: 'The container. Default: the only one of the pod.',
      follow: 'Whether the log is sent as it is written.',
      previous: 'Whether the log is that of the container before its last restart.',
      sinceSeconds: 'Restricts the log to the last seconds.',
      sinceTime: 'Restricts the log to lines after a time.',
      timestamps: 'Whether lines begin with their time.',
      tailLines: 'The maximum number of lines from the end.',
      limitBytes: 'The maximum number of bytes.',
      insecureSkipTLSVerifyBackend: 'Whether the certificate of the kubelet is not verified.',
      stream: 'All, Stdout or Stderr. Default: All.',
    },
  },
  'core/v1.PodAttachOptions': {
    type: 'Options of a request to attach to a container.',
    fields: STREAMS,
  },
  'core/v1.PodExecOptions': {
    type: 'Options of a request to run a command.',
    fields: { ...STREAMS, command: 'The command and its arguments.' },
  },
  'core/v1.PodPortForwardOptions': {
    type: 'Options of a request to forward ports.',
    fields: { ports: 'The ports, for clients over WebSocket.' },
  },
  'core/v1.PodProxyOptions': { type: 'Options of a request to a pod.', fields: PATH_OPTION },
  'core/v1.NodeProxyOptions': { type: 'Options of a request to a kubelet.', fields: PATH_OPTION },
  'core/v1.ServiceProxyOptions': {
    type: 'Options of a request to a service.',
    fields: PATH_OPTION,
  },
  'core/v1.TypedLocalObjectReference': {
    type: 'A reference to an object in the same namespace.',
    fields: { apiGroup: 'The API group. Empty: the core group.', name: 'The name.' },
  },
  'core/v1.SerializedReference': {
    type: 'A reference, as an object of its own.',
    fields: { reference: 'The reference.' },
  },
  'core/v1.EventSource': {
    type: 'The component that reports an event.',
    fields: { component: 'The name of the component.', host: 'The node of the component.' },
  },
  'core/v1.EventSeries': {
    type: 'Repetitions of an event.',
    fields: { count: 'The number of occurrences.', lastObservedTime: 'When it last occurred.' },
  },
  'core/v1.LimitRange': {
    type: 'Limits and defaults for the resources of pods, containers and claims in a namespace.',
  },
  'core/v1.LimitRangeSpec': { type: 'The limits.', fields: { limits: 'The limits, by type.' } },
  'core/v1.LimitRangeItem': {
    type: 'Limits for one type.',
    fields: {
      type: 'Pod, Container or PersistentVolumeClaim.',
      max: 'The largest amounts.',
      min: 'The smallest amounts.',
      default: 'Limits of containers that have none.',
      defaultRequest: 'Requests of containers that have none.',
      maxLimitRequestRatio: 'The largest ratio of limit to request.',
    },
  },
  'core/v1.ResourceQuota': { type: 'Bounds of what a namespace uses.' },
  'core/v1.ResourceQuotaSpec': {
    type: 'The bounds.',
    fields: {
      hard: 'The bounds, by resource.',
      scopes: 'Which objects count: Terminating, NotTerminating, BestEffort and others.',
      scopeSelector: 'Which objects count, with values such as priority classes.',
    },
  },
  'core/v1.ResourceQuotaStatus': {
    type: 'The use.',
    fields: { hard: 'The bounds that are enforced.', used: 'The amounts in use.' },
  },
  'core/v1.ScopeSelector': {
    type: 'Selects objects by scopes.',
    fields: { matchExpressions: 'The requirements. All must be met.' },
  },
  'core/v1.ScopedResourceSelectorRequirement': {
    type: 'A requirement for a scope.',
    fields: {
      scopeName: 'The scope.',
      operator: 'In, NotIn, Exists or DoesNotExist.',
      values: 'The values. Empty for Exists and DoesNotExist.',
    },
  },
  'core/v1.ComponentStatus': {
    type: 'The health of a component of the control plane. Deprecated.',
    fields: { conditions: 'Conditions of the component.' },
  },
  'core/v1.ComponentCondition': {
    type: 'A condition of a component.',
    fields: { error: 'The error of the health check.' },
  },
  'core/v1.RangeAllocation': {
    type: 'Allocations in a range. Not served.',
    fields: { range: 'The range.', data: 'A bit map of the allocations.' },
  },
  'events/v1.Event': {
    type: 'A report of something that happened to an object.',
    fields: {
      eventTime: 'When the event first occurred.',
      series: 'Repetitions of the event.',
      reportingController: 'The controller that reports, such as kubernetes.io/kubelet.',
      reportingInstance: 'The instance of the controller.',
      action: 'Action that was taken or failed.',
      reason: 'The reason, as one word for programs.',
      regarding: 'The object that the event is about.',
      related: 'A second object that is involved.',
      note: 'A description for people, at most 1 KB.',
      type: 'Normal or Warning.',
      deprecatedSource: 'The component that reports, for core/v1.',
      deprecatedFirstTimestamp: 'When the event first occurred, for core/v1.',
      deprecatedLastTimestamp: 'When the event last occurred, for core/v1.',
      deprecatedCount: 'The number of occurrences, for core/v1.',
    },
  },
  'events/v1.EventSeries': { type: 'Repetitions of an event.', like: 'core/v1.EventSeries' },
  'storagemigration/v1beta1.StorageVersionMigration': {
    type: 'Writes all objects of a resource again, so that they are stored in the current version and encryption.',
  },
  'storagemigration/v1beta1.StorageVersionMigrationSpec': {
    type: 'The resource. It cannot be changed.',
    fields: { resource: 'The resource.' },
  },
  'storagemigration/v1beta1.StorageVersionMigrationStatus': {
    type: 'The state of a migration.',
    fields: {
      conditions: 'Running, Succeeded or Failed.',
      resourceVersion: 'The version up to which objects have to be written.',
    },
  },
  'metrics/v1beta1.NodeMetrics': {
    type: 'Resource usage of a node.',
    fields: {
      timestamp: 'The end of the measurement.',
      window: 'The length of the measurement.',
      usage: 'CPU and memory.',
    },
  },
  'metrics/v1beta1.PodMetrics': {
    type: 'Resource usage of a pod.',
    fields: {
      timestamp: 'The end of the measurement.',
      window: 'The length of the measurement.',
      containers: 'Each container.',
    },
  },
  'metrics/v1beta1.ContainerMetrics': {
    type: 'Resource usage of a container.',
    fields: { name: 'The container.', usage: 'CPU and memory.' },
  },
  'meta/v1.GroupResource': { type: 'A resource of a group.', fields: pick('group', 'resource') },
  'meta/v1.GroupVersionResource': {
    type: 'A resource of a group version.',
    fields: pick('group', 'version', 'resource'),
  },
  'meta/v1.GroupKind': { type: 'A kind of a group.', fields: pick('group', 'kind') },
  'meta/v1.GroupVersionKind': {
    type: 'A kind of a group version.',
    fields: pick('group', 'version', 'kind'),
  },
  'meta/v1.GroupVersion': { type: 'A group version.', fields: pick('group', 'version') },
  'meta/v1.TypeMeta': { type: 'The kind and API version of an object.' },
  'meta/v1.ShardInfo': {
    type: 'The part of a collection that a list has.',
    fields: { selector: 'The selector of the part.' },
  },
  'meta/v1.ListOptions': {
    type: 'Options of lists and watches.',
    fields: {
      ...SELECTORS,
      watch: 'Whether changes are sent instead of a list.',
      allowWatchBookmarks: 'Whether the watch may send bookmarks.',
      resourceVersion: VERSION,
      resourceVersionMatch: 'The meaning of resourceVersion in a list: Exact or NotOlderThan.',
      timeoutSeconds: 'How long the list or watch may take.',
      limit: 'The maximum number of objects in one response.',
      continue: 'Where the next part of a list begins, from the metadata of the last part.',
      sendInitialEvents:
        'Whether a watch begins with the objects that exist, and a bookmark after them.',
      shardSelector: 'Restricts the objects to a part of the collection.',
    },
  },
  'meta/v1.GetOptions': { type: 'Options of a get.', fields: { resourceVersion: VERSION } },
  'meta/v1.CreateOptions': {
    type: 'Options of a create.',
    fields: { dryRun: DRY_RUN, fieldManager: MANAGER, fieldValidation: FIELD_VALIDATION },
  },
  'meta/v1.PatchOptions': {
    type: 'Options of a patch.',
    fields: {
      dryRun: DRY_RUN,
      force: 'Whether an apply takes over fields of other managers.',
      fieldManager: MANAGER,
      fieldValidation: FIELD_VALIDATION,
    },
  },
  'meta/v1.ApplyOptions': {
    type: 'Options of an apply.',
    fields: {
      dryRun: DRY_RUN,
      force: 'Whether fields of other managers are taken over.',
      fieldManager: MANAGER,
    },
  },
  'meta/v1.UpdateOptions': {
    type: 'Options of an update.',
    fields: { dryRun: DRY_RUN, fieldManager: MANAGER, fieldValidation: FIELD_VALIDATION },
  },
  'meta/v1.List': { type: 'Objects of any kinds.' },
  'meta/v1.APIVersions': {
    type: 'The versions of the core group.',
    fields: {
      versions: 'The versions.',
      serverAddressByClientCIDRs: 'Addresses of the server, by the addresses of clients.',
    },
  },
  'meta/v1.APIGroupList': { type: 'The API groups.', fields: { groups: 'The groups.' } },
  'meta/v1.APIGroup': {
    type: 'An API group.',
    fields: {
      name: 'The name.',
      versions: 'The versions.',
      preferredVersion: 'The version that the server prefers.',
      serverAddressByClientCIDRs: 'Addresses of the server, by the addresses of clients.',
    },
  },
  'meta/v1.ServerAddressByClientCIDR': {
    type: 'The address of the server for some clients.',
    fields: {
      clientCIDR: 'The range of the clients.',
      serverAddress: 'The address of the server.',
    },
  },
  'meta/v1.GroupVersionForDiscovery': {
    type: 'A group version.',
    fields: { groupVersion: 'Group and version, such as apps/v1.', version: 'The version.' },
  },
  'meta/v1.RootPaths': { type: 'The paths that the server has.', fields: { paths: 'The paths.' } },
  'meta/v1.FieldSelectorRequirement': {
    type: 'A requirement for a field.',
    fields: {
      key: 'The field.',
      operator: 'In, NotIn, Exists or DoesNotExist.',
      values: 'The values.',
    },
  },
  'meta/v1.Table': {
    type: 'Objects as rows of a table.',
    fields: { columnDefinitions: 'The columns.', rows: 'The rows.' },
  },
  'meta/v1.TableColumnDefinition': {
    type: 'A column.',
    fields: {
      name: 'The heading.',
      type: 'The OpenAPI type.',
      format: 'The OpenAPI format. name for the column with the name of the object.',
      description: 'A description.',
      priority: 'Above 0: shown with -o wide only.',
    },
  },
  'meta/v1.TableRow': {
    type: 'A row.',
    fields: {
      cells: 'The cells, in the order of the columns.',
      conditions: 'Marks of the row, such as Completed.',
      object: 'The object, or its metadata.',
    },
  },
  'meta/v1.TableRowCondition': { type: 'A mark of a row.' },
  'meta/v1.TableOptions': {
    type: 'Options of a table.',
    fields: {
      includeObject:
        'Part of the object that each row contains: None, Metadata or Object. Default: Metadata.',
    },
  },
  'meta/v1.PartialObjectMetadata': { type: 'The metadata of an object of any kind.' },
  'apidiscovery/v2.APIGroupDiscoveryList': { type: 'All resources, in one document.' },
  'apidiscovery/v2.APIGroupDiscovery': {
    type: 'A group and its resources.',
    fields: { versions: 'The versions, the preferred one first.' },
  },
  'apidiscovery/v2.APIVersionDiscovery': {
    type: 'A version and its resources.',
    fields: {
      version: 'The version.',
      resources: 'The resources.',
      freshness: 'Current, or Stale if the server of the version is not reachable.',
    },
  },
  'apidiscovery/v2.APIResourceDiscovery': {
    type: 'A resource.',
    fields: {
      resource: 'The plural name.',
      responseKind: 'The kind of the objects.',
      scope: 'Cluster or Namespaced.',
      singularResource: 'The singular name.',
      verbs: 'The verbs.',
      shortNames: 'Short names for command lines.',
      categories: 'Groups of resources for command lines, such as all.',
      subresources: 'The subresources.',
    },
  },
  'apidiscovery/v2.APISubresourceDiscovery': {
    type: 'A subresource.',
    fields: {
      subresource: 'The name.',
      responseKind: 'The kind of responses.',
      acceptedTypes: 'The kinds of requests, if they are others.',
      verbs: 'The verbs.',
    },
  },
};
