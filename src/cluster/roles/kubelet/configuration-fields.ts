// The fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1) 1.36, and what `cox kubelet
// --config` does with each of them.

export type FieldType = 'boolean' | 'number' | 'duration' | 'string' | 'list' | 'map' | 'object';

export interface ConfigurationField {
  /** The field's path, with dots between the names. */
  readonly path: string;
  readonly type: FieldType;
  readonly disposition: 'parent' | 'implemented' | 'ignored' | 'rejected';
  /** The option of the command that has the same meaning, if it is implemented. */
  readonly option?: string;
  /** Values that ask for what the kubelet does in any case. */
  readonly accepted: readonly unknown[];
  readonly reason: string;
  /** Zero values are settings. Default: they count as not set. */
  readonly zeroIsSet?: boolean;
}

/** A field with fields of its own. */
const parent = (path: string): ConfigurationField => ({
  path,
  type: 'object',
  disposition: 'parent',
  accepted: [],
  reason: '',
});

const implemented = (path: string, type: FieldType, option: string): ConfigurationField => ({
  path,
  type,
  disposition: 'implemented',
  option,
  accepted: [],
  reason: '',
});

/** A field whose zero value is a setting of its own, not the default. */
const implementedWithZero = (
  path: string,
  type: FieldType,
  option: string,
): ConfigurationField => ({ ...implemented(path, type, option), zeroIsSet: true });

/** Accepted, with a warning. */
const ignored = (
  path: string,
  type: FieldType,
  accepted: readonly unknown[],
  reason: string,
): ConfigurationField => ({
  path,
  type,
  disposition: 'ignored',
  accepted,
  reason,
});

const rejected = (
  path: string,
  type: FieldType,
  accepted: readonly unknown[],
  reason: string,
): ConfigurationField => ({
  path,
  type,
  disposition: 'rejected',
  accepted,
  reason,
});

export const KUBELET_CONFIGURATION_FIELDS: readonly ConfigurationField[] = [
  rejected('enableServer', 'boolean', [true], 'it cannot be switched off'),
  implemented('staticPodPath', 'string', 'podManifestPath'),
  implemented('podLogsDir', 'string', 'podLogsDir'),
  ignored('syncFrequency', 'duration', ['1m0s'], 'settings of this kind have their default values'),
  implemented('fileCheckFrequency', 'duration', 'fileCheckFrequency'),
  implemented('httpCheckFrequency', 'duration', 'httpCheckFrequency'),
  implemented('staticPodURL', 'string', 'manifestUrl'),
  implemented('staticPodURLHeader', 'map', 'manifestUrlHeader'),
  implemented('address', 'string', 'address'),
  implemented('port', 'number', 'port'),
  ignored('readOnlyPort', 'number', [0], 'there is no port without authentication'),
  implemented('tlsCertFile', 'string', 'tlsCertFile'),
  implemented('tlsPrivateKeyFile', 'string', 'tlsPrivateKeyFile'),
  implemented('tlsCipherSuites', 'list', 'tlsCipherSuites'),
  implemented('tlsCurvePreferences', 'list', 'tlsCurvePreferences'),
  implemented('tlsMinVersion', 'string', 'tlsMinVersion'),
  implemented('rotateCertificates', 'boolean', 'rotateCertificates'),
  implemented('serverTLSBootstrap', 'boolean', 'rotateServerCertificates'),
  parent('authentication'),
  parent('authentication.x509'),
  implemented('authentication.x509.clientCAFile', 'string', 'clientCaFile'),
  parent('authentication.webhook'),
  implemented('authentication.webhook.enabled', 'boolean', 'authenticationTokenWebhook'),
  implemented('authentication.webhook.cacheTTL', 'duration', 'authenticationTokenWebhookCacheTtl'),
  parent('authentication.anonymous'),
  rejected(
    'authentication.anonymous.enabled',
    'boolean',
    [false],
    'requests without credentials are always rejected',
  ),
  parent('authorization'),
  implemented('authorization.mode', 'string', 'authorizationMode'),
  parent('authorization.webhook'),
  implemented(
    'authorization.webhook.cacheAuthorizedTTL',
    'duration',
    'authorizationWebhookCacheAuthorizedTtl',
  ),
  implemented(
    'authorization.webhook.cacheUnauthorizedTTL',
    'duration',
    'authorizationWebhookCacheUnauthorizedTtl',
  ),
  implementedWithZero('registryPullQPS', 'number', 'registryQps'),
  implemented('registryBurst', 'number', 'registryBurst'),
  rejected(
    'imagePullCredentialsVerificationPolicy',
    'string',
    ['NeverVerifyPreloadedImages'],
    'credentials of pulled images are not checked again',
  ),
  rejected(
    'preloadedImagesVerificationAllowlist',
    'list',
    [[]],
    'credentials of pulled images are not checked again',
  ),
  implementedWithZero('eventRecordQPS', 'number', 'eventQps'),
  implemented('eventBurst', 'number', 'eventBurst'),
  rejected('enableDebuggingHandlers', 'boolean', [true], 'it cannot be switched off'),
  ignored(
    'enableContentionProfiling',
    'boolean',
    [false],
    'settings of this kind have their default values',
  ),
  implementedWithZero('healthzPort', 'number', 'healthzPort'),
  implemented('healthzBindAddress', 'string', 'healthzBindAddress'),
  ignored('oomScoreAdj', 'number', [-999], 'settings of this kind have their default values'),
  implemented('clusterDomain', 'string', 'clusterDomain'),
  implemented('clusterDNS', 'list', 'clusterDns'),
  ignored(
    'streamingConnectionIdleTimeout',
    'duration',
    ['4h0m0s'],
    'settings of this kind have their default values',
  ),
  implemented('nodeStatusUpdateFrequency', 'duration', 'nodeStatusUpdateFrequency'),
  implemented('nodeStatusReportFrequency', 'duration', 'nodeStatusReportFrequency'),
  ignored(
    'nodeLeaseDurationSeconds',
    'number',
    [40],
    'settings of this kind have their default values',
  ),
  implemented('imageMinimumGCAge', 'duration', 'minimumImageTtlDuration'),
  implemented('imageMaximumGCAge', 'duration', 'imageMaximumGcAge'),
  implementedWithZero('imageGCHighThresholdPercent', 'number', 'imageGcHighThreshold'),
  implementedWithZero('imageGCLowThresholdPercent', 'number', 'imageGcLowThreshold'),
  implemented('volumeStatsAggPeriod', 'duration', 'volumeStatsAggPeriod'),
  ignored('kubeletCgroups', 'string', [''], 'settings of this kind have their default values'),
  ignored('systemCgroups', 'string', [''], 'settings of this kind have their default values'),
  implemented('cgroupRoot', 'string', 'cgroupRoot'),
  ignored('cgroupsPerQOS', 'boolean', [true], 'settings of this kind have their default values'),
  ignored('cgroupDriver', 'string', ['cgroupfs'], 'the private containerd uses cgroupfs'),
  implemented('cpuManagerPolicy', 'string', 'cpuManagerPolicy'),
  ignored(
    'singleProcessOOMKill',
    'boolean',
    [false],
    'settings of this kind have their default values',
  ),
  implemented('cpuManagerPolicyOptions', 'map', 'cpuManagerPolicyOptions'),
  implemented('cpuManagerReconcilePeriod', 'duration', 'cpuManagerReconcilePeriod'),
  implemented('memoryManagerPolicy', 'string', 'memoryManagerPolicy'),
  implemented('topologyManagerPolicy', 'string', 'topologyManagerPolicy'),
  implemented('topologyManagerScope', 'string', 'topologyManagerScope'),
  implemented('topologyManagerPolicyOptions', 'map', 'topologyManagerPolicyOptions'),
  rejected('qosReserved', 'map', [{}], 'memory is not reserved by class of service'),
  ignored(
    'runtimeRequestTimeout',
    'duration',
    ['2m0s'],
    'settings of this kind have their default values',
  ),
  ignored(
    'hairpinMode',
    'string',
    ['promiscuous-bridge'],
    'settings of this kind have their default values',
  ),
  implemented('maxPods', 'number', 'maxPods'),
  implemented('podCIDR', 'string', 'podCidr'),
  implemented('podPidsLimit', 'number', 'podMaxPids'),
  implementedWithZero('resolvConf', 'string', 'resolvConf'),
  rejected('runOnce', 'boolean', [false], 'the kubelet runs until it is stopped'),
  rejected(
    'cpuCFSQuota',
    'boolean',
    [true],
    'CPU limits are always enforced, by periods of 100 ms',
  ),
  rejected(
    'cpuCFSQuotaPeriod',
    'duration',
    ['100ms'],
    'CPU limits are always enforced, by periods of 100 ms',
  ),
  ignored('nodeStatusMaxImages', 'number', [50], 'settings of this kind have their default values'),
  ignored('maxOpenFiles', 'number', [1000000], 'settings of this kind have their default values'),
  ignored(
    'contentType',
    'string',
    ['application/vnd.kubernetes.protobuf'],
    'settings of this kind have their default values',
  ),
  ignored('kubeAPIQPS', 'number', [50], 'settings of this kind have their default values'),
  ignored('kubeAPIBurst', 'number', [100], 'settings of this kind have their default values'),
  implemented('serializeImagePulls', 'boolean', 'serializeImagePulls'),
  implemented('maxParallelImagePulls', 'number', 'maxParallelImagePulls'),
  implemented('evictionHard', 'map', 'evictionHard'),
  implemented('evictionSoft', 'map', 'evictionSoft'),
  implemented('evictionSoftGracePeriod', 'map', 'evictionSoftGracePeriod'),
  implemented('evictionPressureTransitionPeriod', 'duration', 'evictionPressureTransitionPeriod'),
  implemented('evictionMaxPodGracePeriod', 'number', 'evictionMaxPodGracePeriod'),
  implemented('evictionMinimumReclaim', 'map', 'evictionMinimumReclaim'),
  implemented('mergeDefaultEvictionSettings', 'boolean', 'mergeDefaultEvictionSettings'),
  rejected('podsPerCore', 'number', [0], 'the number of pods is limited by maxPods'),
  rejected('enableControllerAttachDetach', 'boolean', [true], 'it cannot be switched off'),
  rejected(
    'protectKernelDefaults',
    'boolean',
    [false],
    'kernel settings are neither checked nor changed',
  ),
  implemented('makeIPTablesUtilChains', 'boolean', 'makeIptablesUtilChains'),
  ignored(
    'iptablesMasqueradeBit',
    'number',
    [14],
    'settings of this kind have their default values',
  ),
  ignored('iptablesDropBit', 'number', [15], 'settings of this kind have their default values'),
  implemented('featureGates', 'map', 'featureGates'),
  ignored(
    'failSwapOn',
    'boolean',
    [false],
    'the kubelet starts with swap and with control groups v1',
  ),
  parent('memorySwap'),
  implemented('memorySwap.swapBehavior', 'string', 'swapBehavior'),
  implemented('containerLogMaxSize', 'string', 'containerLogMaxSize'),
  implemented('containerLogMaxFiles', 'number', 'containerLogMaxFiles'),
  ignored(
    'containerLogMaxWorkers',
    'number',
    [1],
    'settings of this kind have their default values',
  ),
  ignored(
    'containerLogMonitorInterval',
    'duration',
    ['10s'],
    'settings of this kind have their default values',
  ),
  ignored(
    'configMapAndSecretChangeDetectionStrategy',
    'string',
    ['Watch'],
    'settings of this kind have their default values',
  ),
  implemented('systemReserved', 'map', 'systemReserved'),
  implemented('kubeReserved', 'map', 'kubeReserved'),
  implemented('reservedSystemCPUs', 'string', 'reservedCpus'),
  ignored(
    'showHiddenMetricsForVersion',
    'string',
    [''],
    'settings of this kind have their default values',
  ),
  ignored(
    'systemReservedCgroup',
    'string',
    [''],
    'settings of this kind have their default values',
  ),
  ignored('kubeReservedCgroup', 'string', [''], 'settings of this kind have their default values'),
  implementedWithZero('enforceNodeAllocatable', 'list', 'enforceNodeAllocatable'),
  implemented('allowedUnsafeSysctls', 'list', 'allowedUnsafeSysctls'),
  implemented('volumePluginDir', 'string', 'volumePluginDir'),
  rejected('providerID', 'string', [''], 'nodes have no spec.providerID'),
  ignored(
    'kernelMemcgNotification',
    'boolean',
    [false],
    'thresholds are checked every ten seconds',
  ),
  ignored(
    'logging',
    'object',
    [
      {
        format: 'text',
        flushFrequency: '5s',
        verbosity: 0,
        options: { text: { infoBufferSize: '0' }, json: { infoBufferSize: '0' } },
      },
      // The empty values that kubeadm writes.
      {
        flushFrequency: 0,
        verbosity: 0,
        options: { text: { infoBufferSize: '0' }, json: { infoBufferSize: '0' } },
      },
    ],
    'settings of this kind have their default values',
  ),
  implemented('enableSystemLogHandler', 'boolean', 'enableSystemLogHandler'),
  ignored(
    'enableSystemLogQuery',
    'boolean',
    [false],
    'settings of this kind have their default values',
  ),
  implemented('shutdownGracePeriod', 'duration', 'shutdownGracePeriod'),
  implemented('shutdownGracePeriodCriticalPods', 'duration', 'shutdownGracePeriodCriticalPods'),
  implemented('shutdownGracePeriodByPodPriority', 'list', 'shutdownGracePeriodByPodPriority'),
  parent('crashLoopBackOff'),
  implemented(
    'crashLoopBackOff.maxContainerRestartPeriod',
    'duration',
    'maxContainerRestartPeriod',
  ),
  implemented('reservedMemory', 'list', 'reservedMemory'),
  ignored(
    'enableProfilingHandler',
    'boolean',
    [true],
    'settings of this kind have their default values',
  ),
  ignored(
    'enableDebugFlagsHandler',
    'boolean',
    [true],
    'settings of this kind have their default values',
  ),
  implemented('seccompDefault', 'boolean', 'seccompDefault'),
  rejected('memoryThrottlingFactor', 'number', [0.9], 'memory.min and memory.high are not set'),
  rejected('memoryReservationPolicy', 'string', ['None'], 'memory.min and memory.high are not set'),
  implemented('registerWithTaints', 'list', 'registerWithTaints'),
  rejected('registerNode', 'boolean', [true], 'it cannot be switched off'),
  ignored('tracing', 'object', [{}], 'settings of this kind have their default values'),
  implemented('localStorageCapacityIsolation', 'boolean', 'localStorageCapacityIsolation'),
  implemented('containerRuntimeEndpoint', 'string', 'containerRuntimeEndpoint'),
  ignored(
    'imageServiceEndpoint',
    'string',
    [''],
    'settings of this kind have their default values',
  ),
  ignored(
    'failCgroupV1',
    'boolean',
    [false],
    'the kubelet starts with swap and with control groups v1',
  ),
  parent('userNamespaces'),
  implementedWithZero('userNamespaces.idsPerPod', 'number', 'userNamespacesIdsPerPod'),
];
