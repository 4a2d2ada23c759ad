"""Programs for the tests of the guard: mistakes that others have reported, and correct code.

Each mistake is written anew after a public report, named as repository#number, where there is one.
"""

import numpy as np

N = 6
rng = np.random.default_rng(0)
column, vector, square = rng.random((N, 1)), rng.random(N), rng.random((N, N))
features = rng.random((N, 3))


def predict(x):
    """Stands for a model: one output for each row, as a column."""
    return x @ np.ones((x.shape[1], 1))


# Mistakes. Each has exactly one suspicious expression, in the comment after it.


def mean_squared_error():  # HIPS/Kayak#14, pytorch/pytorch#16045
    prediction = predict(features)
    return ((prediction - vector) ** 2).mean()  # prediction - vector


def mean_absolute_error():  # NVIDIA/cuml#4281
    return np.mean(np.abs(np.subtract(column, vector)))  # np.subtract(column, vector)


def r2_score():  # py-earth#182
    y, y_hat = vector.reshape(-1, 1), predict(features).ravel()
    error = (y - y_hat) ** 2  # y - y_hat
    return 1 - error.sum() / ((y - y.mean()) ** 2).sum()


def residual_variance():  # py-why/EconML#420
    weights = np.linalg.lstsq(features, column, rcond=None)[0]
    residual = vector - features @ weights  # vector - features @ weights
    return residual.var()


def advantage():  # Deep-Reinforcement-Learning-Hands-On#33, thu-ml/tianshou#155
    values, returns = predict(features), vector
    return returns - values  # returns - values


def normalised_advantage():  # RITCHIEHuang/DeepRL_Algorithms#13
    advantages = column
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = np.exp(vector - vector)
    return -np.minimum(ratio * advantages, 1).mean()  # ratio * advantages


def clipped_critic_loss():  # RLinf/RLinf#1568
    values, previous = vector, column
    return previous + np.clip(values - previous, -0.2, 0.2).sum()  # values - previous


def bellman_target():
    next_values = square.max(axis=1, keepdims=True)
    reward = vector
    return reward + 0.99 * next_values  # reward + 0.99 * next_values


def accuracy():  # 935963004/LaBraM#15
    target = np.arange(N).reshape(N, 1)
    return (square.argmax(axis=1) == target).mean()  # square.argmax(axis=1) == target


def one_hot_accuracy():  # Prototypical-Networks-for-Few-shot-Learning-PyTorch#23
    one_hot, labels = np.eye(N), np.arange(N)
    guess = one_hot.argmax(axis=1, keepdims=True)
    return np.equal(guess, labels).mean()  # np.equal(guess, labels)


def masked_lengths():  # PStelldinger/PuzzleBoard#2
    mask = column > 0.5
    return vector * mask  # vector * mask


def masked_sequence():
    tokens, mask = rng.random((4, 1, 5)), rng.random((4, 5)) > 0.5
    return (tokens * mask).sum()  # tokens * mask


def selected_by_mask():
    mask = vector > 0.5
    return np.where(mask, column, 0.0)  # np.where(mask, column, 0.0)


def sample_weights():  # gradientinstitute/aboleth#144
    losses, weights = (vector - vector.mean()) ** 2, column
    return (weights * losses).sum() / weights.sum()  # weights * losses


def huber_loss():
    error = np.abs(column - vector)  # column - vector
    return np.where(error < 1, error**2 / 2, error - 0.5).mean()


def pinball_loss(q=0.9):
    y, prediction = vector, column
    return np.maximum(q * (y - prediction), 0).mean()  # y - prediction


def binary_cross_entropy():
    p, y = 1 / (1 + np.exp(-column)), (vector > 0.5) * 1.0
    return -np.mean(y * np.log(p))  # y * np.log(p)


def column_of_targets():
    y, prediction = vector, vector + 1
    y = y[:, None]
    return ((prediction - y) ** 2).mean()  # prediction - y


def linear_model():
    weight = np.ones((1, 1))
    return vector.reshape(-1, 1) @ weight - vector  # vector.reshape(-1, 1) @ weight - vector


def gradient_descent():
    w, y = np.zeros(3), column
    return features.T @ (features @ w - y)  # features @ w - y


def checked_result():
    return np.allclose(column, vector)  # np.allclose(column, vector)


def transposed_vector():
    y = vector
    return column - y.T  # column - y.T


def intersection_over_union():
    found, true = column > 0.5, vector > 0.5
    return (found & true).sum() / N  # found & true


def centred_rows():  # facebookresearch/Pearl#133 has it with max
    return square - square.mean(axis=1)  # square - square.mean(axis=1)


def normalised_rows():
    x = square
    lengths = np.sqrt((x * x).sum(axis=1))
    return x / lengths  # x / lengths


def softmax():
    e = np.exp(square)
    return e / np.sum(e, -1)  # e / np.sum(e, -1)


def standardised_rows():
    x = square
    deviation = np.std(x, axis=1)
    return x / (deviation + 1e-8)  # x / (deviation + 1e-8)


MISTAKES = [each for each in list(vars().values()) if callable(each) and getattr(each, "__module__", "") == __name__]
MISTAKES.remove(predict)


# Correct code.


def bias_add():
    return square + vector + 1


def bias_add_of_a_batch():
    return rng.random((7, 5, N)) * vector - vector


def centred_columns():
    return (square - square.mean(axis=0)) / square.std(axis=0)


def kept_dimensions():
    e = np.exp(square - square.max(axis=1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def scalars():
    return square * np.float64(2) + np.array(3.0) - np.ones(1) * np.ones((1, 1)) + column[0]


def pairs_with_none():
    return vector[:, None] - vector, vector[:, np.newaxis] * vector[None, :], np.abs(vector[:, None]) - vector


def pairs_with_reshape():
    a, b = vector.reshape(-1, 1) - vector, np.reshape(vector, (N, 1)) + vector
    return a, b, np.expand_dims(vector, 1) == np.arange(N)


def pairs_by_name():
    rows, columns = vector[:, None], vector[None, :]
    tall = rows + 1
    return rows - columns, rows - vector, tall * vector


def pairs_by_global_name():
    return vector * SCALES, SCALES**2 + vector


SCALES = np.arange(float(N))[:, np.newaxis]


def squared_distances_to_means():
    means, x = square, square + 1
    return np.sum(means**2, axis=1) - 2 * (x @ means.T), np.sum(means**2, axis=1) * x


def other_sizes():
    return column * features[0], column[1:] - vector


def squared_distances():
    squares = (features**2).sum(axis=1, keepdims=True)
    return squares + squares.T - 2 * features @ features.T


def one_hot():
    return np.arange(N)[:, None] == np.arange(3)


def grids():
    x, y = np.ogrid[:4, :5]
    u, v = np.meshgrid(np.arange(4), np.arange(4), sparse=True)
    return x + y, u * v, np.add.outer(vector, vector)


def same_shapes():
    prediction = predict(features)
    return (prediction - column).mean(), (prediction.ravel() == vector).mean(), (prediction[:, 0] - vector) ** 2


def row_and_vector():
    return vector[None, :] - vector, np.atleast_2d(vector) * vector


def reduced_differently():
    x = square
    return x * features.sum(axis=1), x - x.mean(axis=1, keepdims=True), x.T - x.mean(axis=0)


def in_place():
    x = square.copy()
    x -= vector
    x *= column
    return x


def accepted_by_comment():
    return column - vector  # broadcast: ok


def accepted_by_comment_on_several_lines():
    return np.subtract(
        column,  # all pairs are meant; broadcast: ok
        vector,
    )


CORRECT = [each for each in list(vars().values()) if callable(each) and getattr(each, "__module__", "") == __name__]
CORRECT = [each for each in CORRECT if each not in MISTAKES and each is not predict]
