import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { ADMISSION_PLUGIN_NAMES } from '#apiserver/admission/defaults.ts';
import { selectAdmissionPlugins } from '#cluster/access/admission-plugins.ts';
import { UserError } from '#cluster/user-error.ts';
import { createProgram } from '../cox.ts';
import { UPSTREAM_FLAGS } from '../role-commands.ts';
import { readArguments } from './arguments.ts';
import { checkFeatureGates } from './feature-gates.ts';
import type { UpstreamFlag } from './flag.ts';

const commandOf = (name: string): Command =>
  createProgram().commands.find((each) => each.name() === name) as Command;
const components = [...UPSTREAM_FLAGS].map(([name, flags]) => ({
  name,
  flags,
  command: commandOf(name),
}));

/** Returns a value of the flag's type that the command does not accept in any case. */
function otherValue({ type, accepted }: UpstreamFlag): string {
  const candidates: Readonly<Record<string, readonly string[]>> = {
    bool: ['true', 'false'],
    duration: ['7h', '8h'],
    mapStringBool: ['a=true'],
    stringToString: ['a=b'],
  };
  const numeric = /^(u?int|float)\d*$/.test(type);
  return (candidates[type] ?? (numeric ? ['7', '9'] : ['something'])).find(
    (value) => !accepted.includes(value),
  ) as string;
}

/** The two backends of the audit log share the names of their flags in the code. */
const nameInCode = (attribute: string): string =>
  attribute.replace(/^audit(?:Log|Webhook)([A-Z])/, (_prefix, first: string) =>
    first.toLowerCase(),
  );

describe.each(components)('$name', ({ name, flags, command }) => {
  const read = (...args: string[]) => readArguments(args, flags, command);

  test('has as many flags as upstream', () => {
    const counts: Readonly<Record<string, number>> = {
      apiserver: 175,
      'controller-manager': 148,
      scheduler: 60,
      kubelet: 146,
      proxy: 57,
    };
    expect(flags).toHaveLength(counts[name] as number);
    expect(new Set(flags.map((flag) => flag.name)).size).toBe(flags.length);
  });

  test('the command has exactly the implemented ones of them', () => {
    const own = new Set(command.options.map(({ long }) => long?.slice(2)));
    const implemented = flags.filter(
      (flag) => flag.disposition === 'implemented' && flag.name !== 'help',
    );
    expect(implemented.map((flag) => flag.name).filter((flag) => !own.has(flag))).toEqual([]);
    expect(
      flags.filter((flag) => flag.disposition !== 'implemented' && own.has(flag.name)),
    ).toEqual([]);
  });

  test('every option of the command is read', () => {
    const folders = ['roles', 'access', 'audit', 'stores'].map(
      (folder) => new URL(`../../cluster/${folder}/`, import.meta.url),
    );
    const files = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter(
          (file) => file.endsWith('.ts') && !file.includes('test') && !file.includes('fields'),
        )
        .map((file) => new URL(file, folder)),
    );
    const texts = [
      new URL('../roles.ts', import.meta.url),
      new URL('../worker-flags.ts', import.meta.url),
      ...files,
    ].map((file) => readFileSync(file, 'utf8'));
    // A declaration of an option does not show that its value is used.
    const code = texts
      .join('\n')
      .split('\n')
      .filter((line) => !line.trim().startsWith('readonly ') && !line.trim().startsWith('*'));
    const unread = command.options
      .map((option) => nameInCode(option.attributeName()))
      .filter(
        (attribute) =>
          attribute !== 'version' &&
          !code.some((line) => new RegExp(`\\b${attribute}\\b`).test(line)),
      );
    expect(unread).toEqual([]);
  });

  test('flags that are not implemented give a reason, and are warned of or rejected', () => {
    for (const flag of flags) {
      if (flag.disposition === 'implemented') continue;
      expect(flag.reason, flag.name).toMatch(/^\S.{10,}[^.]$/);
      for (const accepted of flag.accepted) {
        expect(read(`--${flag.name}=${accepted}`).args, flag.name).toEqual([]);
      }
      const argument = `--${flag.name}=${otherValue(flag)}`;
      if (flag.disposition === 'rejected') {
        expect(() => read(argument), flag.name).toThrow(
          new RegExp(`^--${flag.name}\\b.* is not supported: `),
        );
        continue;
      }
      const { args, warnings } = read(argument);
      expect(args, flag.name).toEqual([]);
      expect(warnings, flag.name).toHaveLength(1);
      expect(warnings[0], flag.name).toMatch(new RegExp(`^--${flag.name}\\b.* is not applied: `));
    }
  });

  test('a value of another type is an error of one line, whatever becomes of the flag', () => {
    for (const { name: flag, type } of flags) {
      if (!/^(bool|u?int\d*|float\d*|duration|Level|mapStringBool|stringToString)$/.test(type))
        continue;
      const error = catchError(() => read(`--${flag}=${'nonsense'.repeat(1000)}`));
      expect(error, flag).toBeInstanceOf(UserError);
      expect(error?.message, flag).toMatch(
        new RegExp(`^invalid argument .* for --${flag}: it takes .*$`),
      );
      expect(error?.message.length, flag).toBeLessThan(300);
    }
  });
});

test('pairs with commas, in quotes where there are several', () => {
  const { flags, command } = components.find(({ name }) => name === 'apiserver')!;
  const warningsOf = (value: string): readonly string[] =>
    readArguments([`--allow-metric-labels=${value}`], flags, command).warnings;
  for (const value of ['a,b=c', '"a,b=c,d"', '"a,b=c,d","e,f=g"', 'a=b,"c,d=e"'])
    expect(warningsOf(value)).toEqual([
      `--allow-metric-labels=${value} is not applied: all metrics are served, with all labels`,
    ]);
  for (const value of ['a,b', 'a=b,"c=d', 'a=b"c"=d', 'a=b,c=d,'])
    expect(() => warningsOf(value), value).toThrow('it takes pairs such as a=b,c=d');
});

function catchError(run: () => unknown): Error | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

describe('forms of flags', () => {
  const { flags, command } = components[0] as (typeof components)[number];
  const read = (...args: string[]) => readArguments(args, flags, command).args;

  test('dashes and underscores, with = or a value of its own', () => {
    for (const args of [
      ['--secure-port=1'],
      ['--secure-port', '1'],
      ['--secure_port=1'],
      ['--secure_port', '1'],
    ]) {
      expect(read(...args)).toEqual(['--secure-port=1']);
    }
    expect(() => read('--secure-port')).toThrow('flag needs an argument: --secure-port');
  });

  test('booleans take no value of their own', () => {
    expect(read('--anonymous-auth')).toEqual(['--anonymous-auth=true']);
    for (const text of ['0', 'f', 'F', 'FALSE', 'False', 'false']) {
      expect(read(`--anonymous-auth=${text}`)).toEqual(['--anonymous-auth=false']);
    }
    expect(read('--anonymous-auth', 'false')).toEqual(['--anonymous-auth=true', 'false']);
  });

  test('lists and maps are joined, values of other flags replaced', () => {
    expect(read('--authorization-mode=Node', '--authorization-mode', 'RBAC,AlwaysDeny')).toEqual([
      '--authorization-mode=Node,RBAC,AlwaysDeny',
    ]);
    expect(read('--runtime-config=a=true', '--runtime-config=b=false')).toEqual([
      '--runtime-config=a=true,b=false',
    ]);
    const issuers = ['--service-account-issuer=https://a,b', '--service-account-issuer=https://c'];
    expect(read(...issuers)).toEqual(issuers);
  });

  test('shorthands, and flags that upstream has not', () => {
    for (const args of [['-v', '4'], ['-v=4'], ['-v4'], ['--v=4']])
      expect(read(...args)).toEqual(['--v=4']);
    expect(read('-h')).toEqual(['--help']);
    expect(read('--store', 'memory', '--verbose', '--log_format=json')).toEqual([
      '--store',
      'memory',
      '--verbose',
      '--log-format=json',
    ]);
    expect(read('--no-such', 'x')).toEqual(['--no-such', 'x']);
    expect(read('--', '--profiling')).toEqual(['--', '--profiling']);
  });
});

test('feature gates', () => {
  expect(checkFeatureGates('')).toEqual([]);
  expect(checkFeatureGates('APIServerIdentity=true,kube:APIResponseCompression=true')).toEqual([]);
  expect(checkFeatureGates('APIServerIdentity=false,AllAlpha=true')).toHaveLength(2);
  expect(() => checkFeatureGates('NoSuchGate=true')).toThrow(
    'unrecognized feature gate: NoSuchGate',
  );
  expect(() => checkFeatureGates('APIServerIdentity=maybe')).toThrow('is true or false');
  expect(() => checkFeatureGates('APIServerTracing=false')).toThrow('it is locked to true');
});

test('admission plugins', () => {
  const select = (enable: string[], disable: string[]) =>
    selectAdmissionPlugins(enable, disable, new Set(ADMISSION_PLUGIN_NAMES));
  expect(
    select(
      ['NodeRestriction', 'DenyServiceExternalIPs'],
      ['PodSecurity', 'MutatingAdmissionWebhook'],
    ),
  ).toEqual({
    enabled: ['NodeRestriction', 'DenyServiceExternalIPs'],
    disabled: ['PodSecurity', 'MutatingAdmissionWebhook'],
    warnings: [],
  });
  expect(select(['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'], []).warnings).toEqual(
    [],
  );
  expect(() => select(['AlwaysDeny'], [])).toThrow('AlwaysDeny is not built in');
  expect(select(['ImagePolicyWebhook', 'AlwaysAdmit'], []).warnings).toEqual([]);
  expect(() => select([], ['Foo'])).toThrow(
    '--disable-admission-plugins: admission plugin "Foo" is unknown',
  );
  expect(() => select(['PodSecurity'], ['PodSecurity'])).toThrow('both enabled and disabled');
});
