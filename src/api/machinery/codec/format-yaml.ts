// Encodes objects as YAML for clients that ask for it.

import { Document, Scalar, visit } from 'yaml';

/** Texts that YAML 1.2 or older parsers read as octal numbers or as a merge key. */
const READ_AS_OTHER = /^([-+]?0o[0-7_]+|<<)$/;

/**
 * Encodes a value. Every text is preserved: also one of blanks and line ends only, which would lose
 * its blanks in a block.
 */
export function formatYaml(value: unknown): string {
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_key, node) {
      const text = node.value;
      if (typeof text !== 'string') return;
      const isBlank = text.includes('\n') && text.trim() === '';
      if (isBlank || READ_AS_OTHER.test(text)) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({ lineWidth: 0 });
}
