// Validation of probes and lifecycle hooks.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  ExecAction,
  GRPCAction,
  HTTPGetAction,
  Lifecycle,
  PodSpec,
  Probe,
  TCPSocketAction,
} from './types.ts';
import { invalidEach, nonNegative, optionalOneOf, portNumberOrName } from './common.ts';

/** The actions of a probe or a hook. */
interface Actions {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  tcpSocket?: TCPSocketAction;
  grpc?: GRPCAction;
  sleep?: { seconds: number };
}

function handler(
  actions: Actions,
  graceSeconds: number | undefined,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  let handlers = 0;
  const one = (name: keyof Actions, check: (at: FieldPath) => FieldErrorList): void => {
    if (actions[name] === undefined) return;
    if (handlers > 0)
      errors.push(field.forbidden(at.child(name), 'may not specify more than 1 handler type'));
    else {
      handlers++;
      errors.push(...check(at.child(name)));
    }
  };
  one('exec', (path) =>
    (actions.exec?.command ?? []).length === 0 ? [field.required(path.child('command'))] : [],
  );
  one('httpGet', (path) => httpGet(actions.httpGet!, path));
  one('tcpSocket', (path) => portNumberOrName(actions.tcpSocket!.port, path.child('port')));
  one('grpc', (path) => portNumberOrName(actions.grpc!.port, path.child('port')));
  one('sleep', (path) => {
    const seconds = actions.sleep?.seconds ?? 0;
    // A missing grace period is another error, which is reported elsewhere.
    if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return [];
    return [
      field.invalid(
        path,
        seconds,
        `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`,
      ),
    ];
  });
  if (handlers === 0) errors.push(field.required(at, 'must specify a handler type'));
  return errors;
}

function httpGet(action: HTTPGetAction, at: FieldPath): FieldErrorList {
  return [
    ...(action.path === undefined || action.path === '' ? [field.required(at.child('path'))] : []),
    ...portNumberOrName(action.port, at.child('port')),
    ...optionalOneOf(action.scheme ?? '', ['HTTP', 'HTTPS'], at.child('scheme')),
    ...(action.httpHeaders ?? []).flatMap((header) =>
      invalidEach(at.child('httpHeaders'), header.name, validation.isHTTPHeaderName(header.name)),
    ),
  ];
}

function probe(value: Probe, graceSeconds: number | undefined, at: FieldPath): FieldErrorList {
  return [
    ...handler(value, graceSeconds, at),
    ...nonNegative(value.initialDelaySeconds, at.child('initialDelaySeconds')),
    ...nonNegative(value.timeoutSeconds, at.child('timeoutSeconds')),
    ...nonNegative(value.periodSeconds, at.child('periodSeconds')),
    ...nonNegative(value.successThreshold, at.child('successThreshold')),
    ...nonNegative(value.failureThreshold, at.child('failureThreshold')),
    ...(value.terminationGracePeriodSeconds !== undefined &&
    value.terminationGracePeriodSeconds <= 0
      ? [
          field.invalid(
            at.child('terminationGracePeriodSeconds'),
            value.terminationGracePeriodSeconds,
            'must be greater than 0',
          ),
        ]
      : []),
  ];
}

const succeedsOnce = (value: Probe, at: FieldPath): FieldErrorList =>
  value.successThreshold !== 1
    ? [field.invalid(at.child('successThreshold'), value.successThreshold ?? 0, 'must be 1')]
    : [];

const NAMED_SIGNALS =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT RTMAX ' +
  'RTMIN SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ';
/** The keys are in the order of their names. */
const SIGNALS_OF_LINUX = [
  ...NAMED_SIGNALS.split(' '),
  ...numbered('RTMAX-', 14),
  ...numbered('RTMIN+', 15),
]
  .map((name) => `SIG${name}`)
  .sort();
const SIGNALS_OF_WINDOWS = ['SIGKILL', 'SIGTERM'];

function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`);
}

/** Validates a stop signal. Signals depend on the operating system, so the pod must specify it. */
function stopSignal(signal: string, os: string | undefined, at: FieldPath): FieldErrorList {
  if (os === undefined)
    return [field.forbidden(at, 'may not be set for containers with empty `spec.os.name`')];
  if (os === 'windows') return optionalOneOf(signal, SIGNALS_OF_WINDOWS, at);
  return os === 'linux' ? optionalOneOf(signal, SIGNALS_OF_LINUX, at) : [];
}

export interface Probed {
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: Lifecycle;
}

export function probesAndHooks(
  container: Probed,
  { spec }: { readonly spec: PodSpec },
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const { terminationGracePeriodSeconds: graceSeconds } = spec;
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  for (const [name, hook] of [
    ['postStart', lifecycle?.postStart],
    ['preStop', lifecycle?.preStop],
  ] as const) {
    if (hook !== undefined)
      errors.push(...handler(hook, graceSeconds, at.child('lifecycle', name)));
  }
  if (lifecycle?.stopSignal !== undefined) {
    errors.push(
      ...stopSignal(lifecycle.stopSignal, spec.os?.name, at.child('lifecycle', 'stopSignal')),
    );
  }
  if (livenessProbe !== undefined) {
    const path = at.child('livenessProbe');
    errors.push(...probe(livenessProbe, graceSeconds, path), ...succeedsOnce(livenessProbe, path));
  }
  if (readinessProbe !== undefined) {
    const path = at.child('readinessProbe');
    errors.push(...probe(readinessProbe, graceSeconds, path));
    if (readinessProbe.terminationGracePeriodSeconds !== undefined) {
      errors.push(
        field.invalid(
          path.child('terminationGracePeriodSeconds'),
          readinessProbe.terminationGracePeriodSeconds,
          'must not be set for readinessProbes',
        ),
      );
    }
  }
  if (startupProbe !== undefined) {
    const path = at.child('startupProbe');
    errors.push(...probe(startupProbe, graceSeconds, path), ...succeedsOnce(startupProbe, path));
  }
  return errors;
}
