// The tree of a parsed script.

export type WordPart =
  | { readonly kind: 'text'; readonly text: string; readonly quoted: boolean }
  /** `$name`, `${name}`, `${#name}` and `${name OP word}`. */
  | {
      readonly kind: 'parameter';
      readonly name: string;
      readonly operator: string;
      readonly word: Word;
      readonly quoted: boolean;
    }
  | { readonly kind: 'command'; readonly list: List; readonly quoted: boolean }
  | { readonly kind: 'arithmetic'; readonly expression: Word; readonly quoted: boolean };

export type Word = readonly WordPart[];

export interface Redirect {
  readonly fd: number;
  readonly operator: '<' | '>' | '>>' | '<&' | '>&' | '<<' | '<<<' | '&>';
  /** The file, the descriptor, or the text of a here-document. */
  readonly target: Word;
}

interface WithRedirects {
  readonly redirects: readonly Redirect[];
}

export interface SimpleCommand extends WithRedirects {
  readonly kind: 'simple';
  readonly assignments: readonly { readonly name: string; readonly value: Word }[];
  readonly words: readonly Word[];
}

export interface IfCommand extends WithRedirects {
  readonly kind: 'if';
  readonly branches: readonly { readonly condition: List; readonly body: List }[];
  readonly otherwise: List;
}

export interface LoopCommand extends WithRedirects {
  readonly kind: 'loop';
  /** `until`: the loop runs as long as the condition fails. */
  readonly until: boolean;
  readonly condition: List;
  readonly body: List;
}

export interface ForCommand extends WithRedirects {
  readonly kind: 'for';
  readonly variable: string;
  /** Undefined: the positional parameters. */
  readonly items: readonly Word[] | undefined;
  readonly body: List;
}

export interface CaseCommand extends WithRedirects {
  readonly kind: 'case';
  readonly subject: Word;
  readonly branches: readonly { readonly patterns: readonly Word[]; readonly body: List }[];
}

export interface GroupCommand extends WithRedirects {
  readonly kind: 'group';
  readonly subshell: boolean;
  readonly body: List;
}

export interface FunctionCommand extends WithRedirects {
  readonly kind: 'function';
  readonly name: string;
  readonly body: Command;
}

export type Command =
  | SimpleCommand
  | IfCommand
  | LoopCommand
  | ForCommand
  | CaseCommand
  | GroupCommand
  | FunctionCommand;

export interface Pipeline {
  readonly negated: boolean;
  readonly commands: readonly Command[];
}

export interface AndOr {
  readonly first: Pipeline;
  readonly rest: readonly { readonly operator: '&&' | '||'; readonly pipeline: Pipeline }[];
  readonly background: boolean;
}

export type List = readonly AndOr[];
