// The flags that components of upstream share, with the same meaning and the same disposition.

import { ignored, implemented, rejected, type UpstreamFlag } from './flag.ts';

/** The logs of every component. */
export const LOG_FLAGS: readonly UpstreamFlag[] = [
  ignored('log-flush-frequency', 'duration', '5s', 'log lines are written at once, to stderr'),
  ignored('log-text-info-buffer-size', 'quantity', '0', 'log lines are written at once, to stderr'),
  ignored('log-text-split-stream', 'bool', 'false', 'log lines are written at once, to stderr'),
  implemented('logging-format', 'string', 'text'),
  implemented('v', 'Level', '0'),
  implemented('version', 'version', 'false'),
  ignored('vmodule', 'pattern=N,...', '', 'one log level holds for all files: see --v'),
];

/** The serving port, metrics, features and logs of the components of the control plane. */
export const SERVER_FLAGS: readonly UpstreamFlag[] = [
  ...LOG_FLAGS,
  ignored('allow-metric-labels', 'stringToString', '', 'all metrics are served, with all labels'),
  ignored('allow-metric-labels-manifest', 'string', '', 'all metrics are served, with all labels'),
  implemented('bind-address', 'ip', '0.0.0.0'),
  rejected('disable-http2-serving', 'bool', 'false', 'HTTP/2 cannot be switched off'),
  ignored('disabled-metrics', 'stringSlice', '', 'all metrics are served, with all labels'),
  rejected('emulated-version', 'stringSlice', '', 'only the behaviour of version 1.36 is there', [
    '',
    '1.36',
    'kube=1.36',
  ]),
  implemented('feature-gates', 'colonSeparatedMultimapStringString', ''),
  implemented('help', 'bool', 'false'),
  ignored(
    'http2-max-streams-per-connection',
    'int',
    '0',
    'the number of streams of a connection is fixed',
  ),
  rejected(
    'min-compatibility-version',
    'stringSlice',
    '',
    'only the behaviour of version 1.36 is there',
    ['', '1.36', 'kube=1.36'],
  ),
  ignored(
    'permit-address-sharing',
    'bool',
    'false',
    'the port is opened without SO_REUSEADDR and SO_REUSEPORT',
  ),
  ignored(
    'permit-port-sharing',
    'bool',
    'false',
    'the port is opened without SO_REUSEADDR and SO_REUSEPORT',
  ),
  ignored('profiling', 'bool', 'true', 'there is no /debug/pprof', ['false']),
  ignored(
    'show-hidden-metrics-for-version',
    'string',
    '',
    'all metrics are served, with all labels',
  ),
  implemented('tls-cert-file', 'string', ''),
  implemented('tls-private-key-file', 'string', ''),
];
