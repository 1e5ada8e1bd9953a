// The directive `kubernetes`.

import type { KubernetesSource } from '../../configuration.ts';
import type { Labels } from '../../wire/names.ts';
import { argumentsOf, onlyArgument, unknownProperty, wholeNumber, zonesOf } from './arguments.ts';
import type { Directive, Line } from './blocks.ts';
import { CorefileError } from './tokens.ts';
import { isReverse } from './zones.ts';

export interface KubernetesDirective {
  readonly source: KubernetesSource;
  readonly kubeconfig: KubeconfigChoice | undefined;
}

export interface KubeconfigChoice {
  readonly file: string;
  /** Default: the current context. */
  readonly context?: string;
}

const DEFAULT_TTL = 5;
const MAX_TTL = 3600;
const PROPERTIES = 'fallthrough, kubeconfig, pods, ttl';

/** @param zones of the server block, for a directive that names none */
export function parseKubernetes(
  directive: Directive,
  zones: readonly Labels[],
): KubernetesDirective {
  const all = zonesOf(directive.args, zones);
  const [first, ...others] = all.filter((zone) => !isReverse(zone));
  if (first === undefined)
    throw new CorefileError(directive.name, 'kubernetes: a zone that is no reverse zone is needed');
  let ttl = DEFAULT_TTL;
  let pods = false;
  let fallthrough: readonly Labels[] = [];
  let kubeconfig: KubeconfigChoice | undefined;
  for (const line of directive.lines) {
    switch (line.name.text) {
      case 'pods':
        pods = parsePods(line);
        break;
      case 'ttl':
        ttl = wholeNumber(onlyArgument(line, 'a number of seconds is'), 0, MAX_TTL);
        break;
      case 'fallthrough':
        fallthrough = zonesOf(line.args, [[]]);
        break;
      case 'kubeconfig': {
        const [file, context] = argumentsOf(line, 1, 2, 'a file, and maybe a context, are');
        kubeconfig = {
          file: file?.text ?? '',
          ...(context !== undefined && { context: context.text }),
        };
        break;
      }
      default:
        unknownProperty(directive, line, PROPERTIES);
    }
  }
  const source: KubernetesSource = {
    kind: 'kubernetes',
    domains: [first, ...others],
    reverse: all.filter(isReverse),
    ttl,
    pods,
    fallthrough,
  };
  return { source, kubeconfig };
}

function parsePods(line: Line): boolean {
  const mode = onlyArgument(line, 'disabled or insecure is');
  if (mode.text === 'disabled' || mode.text === 'insecure') return mode.text === 'insecure';
  throw new CorefileError(
    mode,
    `pods ${mode.text} is not supported: the server keeps no pods (disabled and insecure are)`,
  );
}
