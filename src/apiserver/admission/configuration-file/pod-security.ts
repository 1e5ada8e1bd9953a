// The cluster-wide settings of the PodSecurity plugin, from its configuration file. The messages are
// upstream's.

import type {
  PodSecurityConfiguration,
  PodSecurityDefaults,
} from '#api/config/pod-security/v1/index.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import { isDNS1123Label, isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { ConfigurationError } from '../../configuration-files/decode.ts';
import type { PodSecurityConfig } from '../pod-security/index.ts';
import { isVersion, LEVELS, type LevelVersion, type Mode } from '../pod-security/policy.ts';

const PRIVILEGED = 'privileged';
const LATEST = 'latest';

/** Throws ConfigurationError. */
export function readPodSecurity(configuration: PodSecurityConfiguration): PodSecurityConfig {
  const { defaults, exemptions } = configuration;
  const errors: FieldErrorList = [];
  const enforce = levelOf('enforce', defaults, errors);
  const warn = levelOf('warn', defaults, errors);
  const audit = levelOf('audit', defaults, errors);
  const { namespaces = [], runtimeClasses = [], usernames = [] } = exemptions;
  errors.push(
    ...validateNames('namespaces', namespaces, isDNS1123Label),
    ...validateNames('runtimeClasses', runtimeClasses, isDNS1123Subdomain),
    ...validateNames('usernames', usernames, (name) =>
      name === '' ? ['username must not be empty'] : [],
    ),
  );
  if (errors.length > 0)
    throw new ConfigurationError(
      `couldn't init admission plugin "PodSecurity": ${field.aggregateMessage(errors)}`,
    );
  return {
    defaults: { enforce, audit, warn },
    exemptions: { namespaces, runtimeClasses, usernames },
  };
}

function levelOf(mode: Mode, defaults: PodSecurityDefaults, errors: FieldErrorList): LevelVersion {
  const root = field.path('defaults');
  const levelText = defaults[mode] ?? PRIVILEGED;
  const versionText = defaults[`${mode}-version`] ?? LATEST;
  const level = LEVELS.find((each) => each === levelText);
  if (level === undefined)
    errors.push(field.invalid(root.child(mode), levelText, `must be one of ${LEVELS.join(', ')}`));
  const version = isVersion(versionText) ? versionText : undefined;
  if (version === undefined)
    errors.push(
      field.invalid(root.child(`${mode}-version`), versionText, 'must be "latest" or "v1.x"'),
    );
  return { level: level ?? PRIVILEGED, version: version ?? LATEST };
}

function validateNames(
  list: string,
  names: readonly string[],
  problemsOf: (name: string) => readonly string[],
): FieldErrorList {
  const seen = new Set<string>();
  return names.flatMap((name, index) => {
    const at = field.path('exemptions', list).index(index);
    const problems = problemsOf(name);
    if (problems.length > 0) return [field.invalid(at, name, problems.join(', '))];
    if (seen.has(name)) return [field.duplicate(at, name)];
    seen.add(name);
    return [];
  });
}
