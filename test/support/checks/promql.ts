import { parser } from '@prometheus-io/lezer-promql';

interface Matcher {
  label: string;
  value: string;
  isRegex: boolean;
}

export interface Selector {
  metric: string;
  matchers: Matcher[];
}

export interface Expression {
  selectors: Selector[];
  /** Labels of `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`. */
  grouping: string[];
}

/** @throws Error if the expression is not valid PromQL */
export function parsePromql(text: string): Expression {
  const expression: Expression = { selectors: [], grouping: [] };
  const textOf = ({ from, to }: { from: number; to: number }) => text.slice(from, to);
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`not PromQL at ${node.from}: ${text}`);
      const { parent } = node.node;
      if (node.name === 'LabelName' && parent?.name === 'GroupingLabels') {
        expression.grouping.push(textOf(node));
      }
      if (node.name === 'VectorSelector') {
        const name = node.node.getChild('Identifier');
        if (name === null) throw new Error(`a selector without the name of a metric: ${text}`);
        expression.selectors.push({ metric: textOf(name), matchers: [] });
      }
      if (node.name === 'UnquotedLabelMatcher') {
        const label = node.node.getChild('LabelName');
        const literal = node.node.getChild('StringLiteral');
        const operator = node.node.getChild('MatchOp');
        if (label === null || literal === null || operator === null) throw new Error(`a matcher in ${text}`);
        expression.selectors.at(-1)?.matchers.push({
          label: textOf(label),
          value: textOf(literal).slice(1, -1),
          isRegex: textOf(operator).includes('~'),
        });
      }
    },
  });
  return expression;
}
