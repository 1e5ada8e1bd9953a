// The flags that kube-controller-manager and kube-scheduler 1.36 share: their configuration, serving
// port and logs, and what cox does with each of them.

import { ignored, implemented, rejected, type UpstreamFlag } from './flag.ts';
import { SERVER_FLAGS } from './shared-flags.ts';

export const CONTROL_PLANE_FLAGS: readonly UpstreamFlag[] = [
  ...SERVER_FLAGS,
  ignored(
    'authentication-kubeconfig',
    'string',
    '',
    'reviews of tokens and access are requested with --kubeconfig',
  ),
  ignored(
    'authentication-skip-lookup',
    'bool',
    'false',
    'the health port authenticates by token only',
  ),
  ignored('authentication-token-webhook-cache-ttl', 'duration', '10s', 'reviews are not cached'),
  ignored(
    'authorization-always-allow-paths',
    'stringSlice',
    '/healthz,/readyz,/livez',
    'health is for everyone, metrics for those who may see them',
    ['/healthz,/readyz,/livez'],
  ),
  ignored(
    'authorization-kubeconfig',
    'string',
    '',
    'reviews of tokens and access are requested with --kubeconfig',
  ),
  ignored(
    'authorization-webhook-cache-authorized-ttl',
    'duration',
    '10s',
    'reviews are not cached',
  ),
  ignored(
    'authorization-webhook-cache-unauthorized-ttl',
    'duration',
    '10s',
    'reviews are not cached',
  ),
  implemented('client-ca-file', 'string', ''),
  ignored(
    'kube-api-content-type',
    'string',
    'application/vnd.kubernetes.protobuf',
    'requests to the API server are JSON',
    ['application/json'],
  ),
  implemented('kubeconfig', 'string', ''),
  implemented('leader-elect', 'bool', 'true'),
  implemented('leader-elect-lease-duration', 'duration', '15s'),
  implemented('leader-elect-renew-deadline', 'duration', '10s'),
  rejected('leader-elect-resource-lock', 'string', 'leases', 'the lock is a Lease'),
  implemented('leader-elect-resource-namespace', 'string', 'kube-system'),
  implemented('leader-elect-retry-period', 'duration', '2s'),
  rejected('master', 'string', '', 'the address of the API server is in --kubeconfig'),
  implemented('requestheader-allowed-names', 'stringSlice', ''),
  implemented('requestheader-client-ca-file', 'string', ''),
  implemented('requestheader-extra-headers-prefix', 'stringSlice', 'x-remote-extra-'),
  implemented('requestheader-group-headers', 'stringSlice', 'x-remote-group'),
  implemented('requestheader-uid-headers', 'stringSlice', ''),
  implemented('requestheader-username-headers', 'stringSlice', 'x-remote-user'),
  rejected(
    'tls-cipher-suites',
    'stringSlice',
    '',
    "the health port has Node's TLS settings (1.2 and later)",
  ),
  rejected(
    'tls-curve-preferences',
    'int32Slice',
    '',
    "the health port has Node's TLS settings (1.2 and later)",
  ),
  rejected(
    'tls-min-version',
    'string',
    '',
    "the health port has Node's TLS settings (1.2 and later)",
  ),
  rejected(
    'tls-sni-cert-key',
    'namedCertKey',
    '',
    'the health port has one serving certificate, for all names',
  ),
];
