"""Denoising of released values, by what is known of their noise: free post-processing."""

from skdp.denoising._auto import AutoDenoiser
from skdp.denoising._base import Denoiser
from skdp.denoising._bayes import BayesDenoiser
from skdp.denoising._display import HistogramDisplay
from skdp.denoising._graph_denoisers import GraphWaveletDenoiser, TrendFilterDenoiser
from skdp.denoising._histogram import PrivateHistogram
from skdp.denoising._intervals import confidence_ball, coordinate_interval, linear_interval
from skdp.denoising._parameter import denoised
from skdp.denoising._rules import Noise, Rule
from skdp.denoising._shrinkers import JamesSteinDenoiser, SoftThresholdDenoiser

__all__ = [
    "AutoDenoiser",
    "BayesDenoiser",
    "Denoiser",
    "GraphWaveletDenoiser",
    "HistogramDisplay",
    "JamesSteinDenoiser",
    "Noise",
    "PrivateHistogram",
    "Rule",
    "SoftThresholdDenoiser",
    "TrendFilterDenoiser",
    "confidence_ball",
    "coordinate_interval",
    "denoised",
    "linear_interval",
]
