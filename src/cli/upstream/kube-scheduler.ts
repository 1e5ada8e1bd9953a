// The flags of kube-scheduler 1.36, and what `cox scheduler` does with each of them.

import { CONTROL_PLANE_FLAGS } from './control-plane-flags.ts';
import { byName, ignored, implemented, rejected, type UpstreamFlag } from './flag.ts';

export const KUBE_SCHEDULER_FLAGS: readonly UpstreamFlag[] = byName([
  ...CONTROL_PLANE_FLAGS,
  ignored(
    'authentication-tolerate-lookup-failure',
    'bool',
    'true',
    'the health port authenticates by token only',
  ),
  rejected(
    'cert-dir',
    'string',
    '',
    'name the files with --tls-cert-file and --tls-private-key-file',
  ),
  implemented('config', 'string', ''),
  ignored('contention-profiling', 'bool', 'true', 'there is no /debug/pprof', ['false']),
  ignored(
    'kube-api-burst',
    'int32',
    '100',
    'requests to the API server are not limited by the client',
  ),
  ignored(
    'kube-api-qps',
    'float32',
    '50',
    'requests to the API server are not limited by the client',
  ),
  implemented('leader-elect-resource-name', 'string', 'kube-scheduler'),
  ignored(
    'pod-max-in-unschedulable-pods-duration',
    'duration',
    '5m0s',
    'pods are tried again after five minutes',
  ),
  implemented('secure-port', 'int', '10259'),
  rejected('write-config-to', 'string', '', 'the configuration is not written'),
]);
