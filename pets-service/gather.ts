interface Waiting<Question, Answer> {
  question: Question;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

/**
 * Collects what is asked within one turn of the event loop, and asks for all of it together: requests that arrive at
 * the same time can then share a query, whose cost hardly depends on how many they are. One that comes alone waits for
 * nobody. The asking begins after each of the questions, so all are answered as of a moment that they have seen.
 * @param askTogether resolves with the answers in the order of the questions; where it rejects, it does so for all
 */
export function gather<Question, Answer>(
  askTogether: (questions: readonly Question[]) => Promise<readonly Answer[]>,
): (question: Question) => Promise<Answer> {
  let waiting: Waiting<Question, Answer>[] = [];

  async function ask(): Promise<void> {
    const asking = waiting;
    waiting = [];
    try {
      const answers = await askTogether(asking.map(({ question }) => question));
      if (answers.length !== asking.length) throw new Error('not as many answers as questions');
      for (const [index, answer] of answers.entries()) asking[index]?.resolve(answer);
    } catch (error) {
      for (const { reject } of asking) reject(error);
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(() => void ask());
      waiting.push({ question, resolve, reject });
    });
}
