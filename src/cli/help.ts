// How the help of every command is written: lines that fit a terminal, and values as a user types
// them.

import { Help, type HelpConfiguration, type Option } from 'commander';

/** The width of the column of flags. The description of a longer flag begins in the next line. */
const FLAG_WIDTH = 32;

export const HELP_FORMAT: HelpConfiguration = {
  optionDescription,
  padWidth: (command, helper) =>
    Math.min(FLAG_WIDTH, Help.prototype.padWidth.call(helper, command, helper)),
  formatItem(term, termWidth, description, helper) {
    const format = (text: string): string =>
      Help.prototype.formatItem.call(helper, text, termWidth, description, helper);
    return term.length <= termWidth ? format(term) : `  ${term}\n${format('')}`;
  },
};

/** Returns the description of a flag with its choices and its default value. */
function optionDescription(option: Option): string {
  const { description, argChoices } = option;
  const byDefault = option.defaultValueDescription ?? defaultOf(option);
  const facts = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(byDefault === undefined ? [] : [`default: ${byDefault}`]),
  ];
  return facts.length === 0 ? description : `${description} (${facts.join('; ')})`;
}

/** Returns the default value as a user would type it; undefined: it says nothing. */
function defaultOf({ defaultValue, required, optional }: Option): string | undefined {
  if (Array.isArray(defaultValue)) return defaultValue.length > 0 ? defaultValue.join() : undefined;
  switch (typeof defaultValue) {
    case 'string':
    case 'number':
      return String(defaultValue);
    case 'boolean':
      // A flag without a value is absent by default.
      return required || optional ? String(defaultValue) : undefined;
    default:
      return undefined;
  }
}
