// `cox completion`: scripts that complete commands, flags and values in a shell. They are generated
// from the commands themselves.

import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Flag {
  /** '--data-dir'. */
  readonly names: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** The flag's values, if they are few. */
  readonly choices: readonly string[];
}

interface Completed {
  /** 'snapshot save'; '' for the program itself. */
  readonly path: string;
  readonly description: string;
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  /** The choices of its arguments. */
  readonly values: readonly string[];
  readonly flags: readonly Flag[];
}

/** Returns the script for a shell. */
export function completionScript(program: Command, shell: Shell): string {
  const commands = completedIn(program, '');
  switch (shell) {
    case 'bash':
      return bashScript(commands);
    case 'zsh':
      return `#compdef cox coxswain\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`;
    case 'fish':
      return fishScript(commands);
  }
}

function completedIn(command: Command, path: string): Completed[] {
  const visible = command.createHelp().visibleCommands(command);
  const flags = command.createHelp().visibleOptions(command).map(flagOf);
  const own: Completed = {
    path,
    description: command.description(),
    subcommands: visible.map((each) => ({ name: each.name(), description: each.description() })),
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    flags,
  };
  const nested = visible
    .filter((each) => each.name() !== 'help')
    .flatMap((each) => completedIn(each, path === '' ? each.name() : `${path} ${each.name()}`));
  return [own, ...nested];
}

function flagOf(option: Option): Flag {
  return {
    names: [option.long, option.short].filter((name) => name !== undefined && name !== null),
    description: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  };
}

/** Quotes a word for bash, zsh and fish. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function bashScript(commands: readonly Completed[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '');
  const words = commands.map(({ path, subcommands, values, flags }) => {
    const all = [
      ...subcommands.map(({ name }) => name),
      ...values,
      ...flags.flatMap(({ names }) => names),
    ];
    return `    ${quoted(path)}) words=${quoted(all.join(' '))} ;;\n`;
  });
  const choices = commands.flatMap(({ path, flags }) =>
    flags
      .filter((flag) => flag.choices.length > 0)
      .flatMap(({ names, choices: values }) =>
        names.map(
          (name) => `    ${quoted(`${path} ${name}`)}) words=${quoted(values.join(' '))} ;;\n`,
        ),
      ),
  );
  const withValue = commands.flatMap(({ path, flags }) =>
    flags
      .filter((flag) => flag.takesValue && flag.choices.length === 0)
      .flatMap(({ names }) => names.map((name) => quoted(`${path} ${name}`))),
  );
  return `_cox() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' word words=''
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$path\${path:+ }$word" in
    ${paths.map(quoted).join('|')}) path="$path\${path:+ }$word" ;;
    esac
  done
  case "$path $previous" in
${choices.join('')}    ${withValue.length === 0 ? "''" : withValue.join('|')}) COMPREPLY=($(compgen \
-f -- "$current")); return ;;
  esac
  if [[ -z $words ]]; then
    case "$path" in
${words.join('')}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ \${#COMPREPLY[@]} -gt 0 || $current == -* ]] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _cox cox coxswain
`;
}

function fishScript(commands: readonly Completed[]): string {
  const lines: string[] = ['complete -c cox -f'];
  for (const { path, subcommands, values, flags } of commands) {
    const condition = conditionOf(path, subcommands);
    if (values.length > 0)
      lines.push(`complete -c cox -n ${condition} -a ${quoted(values.join(' '))}`);
    for (const { name, description } of subcommands) {
      lines.push(`complete -c cox -n ${condition} -a ${quoted(name)} -d ${quoted(description)}`);
    }
    for (const { names, description, takesValue, choices } of flags) {
      const spelled = names
        .map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`))
        .join(' ');
      const value =
        choices.length > 0 ? ` -x -a ${quoted(choices.join(' '))}` : takesValue ? ' -r -F' : '';
      lines.push(`complete -c cox -n ${condition} ${spelled}${value} -d ${quoted(description)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Returns the condition under which a command is the one that is typed. */
function conditionOf(path: string, subcommands: Completed['subcommands']): string {
  if (path === '') return quoted('__fish_use_subcommand');
  const seen = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`);
  const names = subcommands.map(({ name }) => name).join(' ');
  return quoted(
    [...seen, ...(names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`])].join('; and '),
  );
}
