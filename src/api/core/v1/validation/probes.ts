// Rules of probes and lifecycle hooks.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { ExecAction, GRPCAction, HTTPGetAction, Lifecycle, Probe, TCPSocketAction } from './types.ts';
import { invalidEach, nonNegative, optionalOneOf, portNumberOrName } from './common.ts';

/** The actions that a probe or a hook can take. */
interface Actions {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  tcpSocket?: TCPSocketAction;
  grpc?: GRPCAction;
  sleep?: { seconds: number };
}

function handler(actions: Actions, graceSeconds: number | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  let handlers = 0;
  const one = (name: keyof Actions, check: (at: FieldPath) => FieldErrorList): void => {
    if (actions[name] === undefined) return;
    if (handlers > 0) errors.push(field.forbidden(at.child(name), 'may not specify more than 1 handler type'));
    else {
      handlers++;
      errors.push(...check(at.child(name)));
    }
  };
  one('exec', (path) => ((actions.exec?.command ?? []).length === 0 ? [field.required(path.child('command'))] : []));
  one('httpGet', (path) => httpGet(actions.httpGet as HTTPGetAction, path));
  one('tcpSocket', (path) => portNumberOrName((actions.tcpSocket as TCPSocketAction).port, path.child('port')));
  one('grpc', (path) => portNumberOrName((actions.grpc as GRPCAction).port, path.child('port')));
  one('sleep', (path) => {
    const seconds = actions.sleep?.seconds ?? 0;
    // Without a grace period another error has been found already.
    if (graceSeconds === undefined || (seconds >= 0 && seconds <= graceSeconds)) return [];
    return [field.invalid(path, seconds, `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`)];
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
    ...(value.terminationGracePeriodSeconds !== undefined && value.terminationGracePeriodSeconds <= 0
      ? [field.invalid(at.child('terminationGracePeriodSeconds'), value.terminationGracePeriodSeconds, 'must be greater than 0')]
      : []),
  ];
}

const succeedsOnce = (value: Probe, at: FieldPath): FieldErrorList =>
  value.successThreshold !== 1 ? [field.invalid(at.child('successThreshold'), value.successThreshold ?? 0, 'must be 1')] : [];

export interface Probed {
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  lifecycle?: Lifecycle;
}

export function probesAndHooks(container: Probed, graceSeconds: number | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  for (const [name, hook] of [
    ['postStart', lifecycle?.postStart],
    ['preStop', lifecycle?.preStop],
  ] as const) {
    if (hook !== undefined) errors.push(...handler(hook, graceSeconds, at.child('lifecycle', name)));
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
